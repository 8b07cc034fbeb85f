"""The pytest plugin as a client's author meets it: small suites, each run in a folder of its own."""

from __future__ import annotations

import pytest

from support.suites import Run


class TestScripting:
    """What a test says is what its client gets."""

    def test_a_scripted_answer_and_its_truth(self, run: Run) -> None:
        result = run(
            """
            def test_it(fakellm):
                fakellm.say("Hello, world!")
                answer = call(fakellm)
                assert text(answer) == "Hello, world!"
                assert fakellm.truth.text == "Hello, world!"
                assert fakellm.last.json["messages"][0]["content"] == "Hi"
                assert fakellm.find(answer["id"]).number == 1
                fakellm.assert_captured(capture(answer))
            """,
        )

        result.assert_outcomes(passed=1)

    def test_every_test_begins_with_a_clean_script_and_journal(self, run: Run) -> None:
        result = run(
            """
            @pytest.mark.parametrize("name", ["one", "two"])
            def test_it(fakellm, fakellm_server, name):
                assert fakellm.requests == ()
                assert fakellm.base_url == fakellm_server.base_url
                fakellm.say(name)
                assert text(call(fakellm)) == name
            """,
        )

        result.assert_outcomes(passed=2)

    def test_replies_are_chosen_as_in_a_file(self, run: Run) -> None:
        result = run(
            """
            def test_it(fakellm):
                fakellm.say("For Ann.").when(last_message={"contains": "Ann"}).once()
                fakellm.say("One.").then("Two.", finish_reason="length")
                fakellm.say()
                assert text(call(fakellm, "I am Ann")) == "For Ann."
                assert [text(call(fakellm)) for _ in "12"] == ["One.", "Two."]
                assert fakellm.last.response_body.count(b'"length"') == 1
                assert text(call(fakellm)) not in ("One.", "Two.", "")
            """,
        )

        result.assert_outcomes(passed=1)

    def test_a_misspelt_fault_is_an_error_on_its_own_line(self, run: Run) -> None:
        result = run(
            """
            def test_it(fakellm):
                fakellm.say("Hello").fault("late-eos-scores")
            """,
        )

        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(['>*fault("late-eos-scores")', "*did you mean 'late-eos-score'*"])

    def test_a_test_says_before_its_scenario_file_does(self, run: Run, pytester: pytest.Pytester) -> None:
        pytester.path.joinpath("all.yaml").write_text("replies: [{say: From the file.}]\n")
        result = run(
            """
            @pytest.mark.fakellm("all.yaml")
            def test_it(fakellm):
                fakellm.say("From the test.").once()
                assert [text(call(fakellm)) for _ in "12"] == ["From the test.", "From the file."]
            """,
        )

        result.assert_outcomes(passed=1)


class TestVerification:
    """What a passing test left undone fails it; a failing one keeps its own failure."""

    def test_an_unmatched_request_fails_the_test_and_shows_the_nearest_reply(self, run: Run) -> None:
        result = run(
            """
            def test_it(fakellm):
                fakellm.say("Hello").when(last_message={"contains": "Ann"})
                assert "error" in call(fakellm, "I am Bob")
            """,
        )

        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(
            [
                "*POST /v1/chat/completions found no reply",
                "*test_it.py:5:",
                "*FAIL last_message contains 'Ann'; the request has \"I am Bob\"",
                "*fakellm journal*",
                "#1 POST /v1/chat/completions -> 501; no reply matches",
            ]
        )

    def test_a_reply_that_nobody_asked_for_fails_the_test(self, run: Run) -> None:
        result = run("def test_it(fakellm):\n    fakellm.say('Hello').times(2)\n    call(fakellm)\n")

        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["*test_it.py:4 was played 1 of 2 times"])

    def test_a_fault_that_does_not_apply_fails_the_test(self, run: Run) -> None:
        result = run("def test_it(fakellm):\n    fakellm.say('Hello').fault('late-eos-score')\n    call(fakellm)\n")

        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["#1 POST /v1/chat/completions -> 500; fault late-eos-score: it does not apply*"])

    def test_a_failure_of_its_own_is_not_masked(self, run: Run) -> None:
        result = run("def test_it(fakellm):\n    fakellm.say('Hello').once()\n    assert 1 == 2\n")

        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["*assert 1 == 2*"])
        result.stdout.no_fnmatch_line("*was played*")

    @pytest.mark.parametrize("where", ["marker", "ini", "option"])
    def test_leniency_is_written_down(self, run: Run, pytester: pytest.Pytester, where: str) -> None:
        words = ["--fakellm-unmatched=ignore", "--fakellm-unused=ignore"] if where == "option" else []
        mark = "@pytest.mark.fakellm(unmatched='ignore', unused='ignore')\n" if where == "marker" else ""
        if where == "ini":
            pytester.makeini("[pytest]\nfakellm_unmatched = ignore\nfakellm_unused = ignore\n")
        result = run(
            f"{mark}def test_it(fakellm):\n    fakellm.say('x').when(model='other').once()\n    call(fakellm)\n",
            *words,
        )

        result.assert_outcomes(passed=1)

    def test_what_happens_after_the_body_of_the_test_counts_too(self, run: Run) -> None:
        result = run(
            """
            @pytest.fixture
            def late(fakellm):
                yield
                call(fakellm)

            def test_it(late):
                pass
            """,
        )

        result.assert_outcomes(passed=1, errors=1)
        result.stdout.fnmatch_lines(["*found no reply", "*nothing was said: fakellm.say(...) comes first*"])

    def test_a_test_case_of_unittest_is_verified_as_well(self, run: Run) -> None:
        result = run(
            """
            import unittest

            class Case(unittest.TestCase):
                @pytest.fixture(autouse=True)
                def _fake(self, fakellm):
                    self.fakellm = fakellm

                def test_undone(self):
                    self.fakellm.say("Hello").once()

                def test_broken(self):
                    self.fakellm.say("Hello").once()
                    self.assertEqual(1, 2)
            """,
        )

        result.assert_outcomes(failed=2)
        result.stdout.fnmatch_lines(["*AssertionError: 1 != 2*", "*was played 0 of 1 times"])


class TestCaptures:
    """``assert_captured`` points at the token."""

    def test_a_lost_score_is_shown_in_a_table(self, run: Run) -> None:
        result = run(
            """
            def test_it(fakellm):
                fakellm.say("Hello, world!")
                got = capture(call(fakellm))
                got["logprobs"].pop()
                fakellm.assert_captured(got)
            """,
        )

        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(
            [
                "*the capture is not what the server told (vllm-*, chat, exchange 1)",
                "*align.logprobs at choices?0?.logprobs?4?: *",
                "*#  piece *id told *id got *logprob told *logprob got",
                "*>  4  '<|im_end|>'*-",
                "*the last of the scores is lost: 4 of 5 are there",
            ]
        )
        result.stdout.no_fnmatch_line("*captured.py:*")

    def test_null_is_right_where_the_wire_has_nothing_and_wrong_elsewhere(self, run: Run) -> None:
        result = run(
            """
            def test_absent(fakellm):
                fakellm.say("Hello").fault("return-token-ids-ignored")
                call(fakellm)
                fakellm.assert_captured(completion_token_ids=None)

            def test_lost(fakellm):
                fakellm.say("Hello")
                call(fakellm)
                fakellm.assert_captured(completion_token_ids=None)
            """,
        )

        result.assert_outcomes(passed=1, failed=1)
        result.stdout.fnmatch_lines(["*completion_token_ids was captured in none of the 1 exchanges that carried it"])

    def test_one_choice_of_several(self, run: Run) -> None:
        result = run(
            """
            def row(choice):
                return {"completion_token_ids": choice["token_ids"]}

            def test_right(fakellm):
                fakellm.say(choices=["One.", "Two and more."])
                first, second = call(fakellm, n=2)["choices"]
                assert [one.text for one in fakellm.truth.choices] == ["One.", "Two and more."]
                fakellm.assert_captured(row(second), choice=1)
                fakellm.assert_captured([row(first), row(second)])

            def test_swapped(fakellm):
                fakellm.say(choices=["One.", "Two and more."])
                first, second = call(fakellm, n=2)["choices"]
                fakellm.assert_captured(row(first), choice=1)
            """,
        )

        result.assert_outcomes(passed=1, failed=1)

    def test_objects_and_arrays_are_read_as_they_come(self, run: Run) -> None:
        result = run(
            """
            from array import array
            from types import SimpleNamespace

            def test_it(fakellm):
                fakellm.say("Hello")
                got = capture(call(fakellm))
                fakellm.assert_captured(SimpleNamespace(completion_token_ids=array("l", got["completion_token_ids"])))
            """,
        )

        result.assert_outcomes(passed=1)

    def test_a_misspelt_value_is_an_error(self, run: Run) -> None:
        result = run(
            "def test_it(fakellm):\n    fakellm.say('x')\n    call(fakellm)\n    fakellm.assert_captured(logprob=[])\n",
        )

        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(["*did you mean 'logprobs'*"])


class TestServers:
    """Layouts, several servers, other event loops."""

    @pytest.mark.parametrize("where", ["marker", "option", "ini", "parametrize"])
    def test_a_test_runs_once_per_layout(self, run: Run, pytester: pytest.Pytester, where: str) -> None:
        names = ["vllm-0.32.0", "sglang-0.5.23"]
        words = [f"--fakellm-layout={','.join(names)}"] if where == "option" else []
        mark = {
            "marker": f"@pytest.mark.fakellm(layouts={names})\n",
            "parametrize": f"@pytest.mark.parametrize('fakellm_layout', {names})\n",
        }.get(where, "")
        if where == "ini":
            pytester.makeini(f"[pytest]\nfakellm_layout = {','.join(names)}\n")
        result = run(
            f"{mark}def test_it(fakellm, fakellm_layout):\n    assert fakellm.layout == fakellm_layout\n",
            "-v",
            *words,
        )

        result.assert_outcomes(passed=2)
        result.stdout.fnmatch_lines([f"*test_it[[]{name}[]] PASSED*" for name in names])

    def test_a_test_that_names_its_layout_keeps_it(self, run: Run) -> None:
        result = run(
            """
            @pytest.mark.fakellm(layout="vllm-0.28.0")
            def test_it(fakellm):
                assert fakellm.layout == "vllm-0.28.0"
            """,
            "--fakellm-layout=sglang-0.5.23",
        )

        result.assert_outcomes(passed=1)

    def test_a_factory_opens_servers_of_their_own_and_verifies_each(self, run: Run) -> None:
        result = run(
            """
            def test_apart(fakellm_factory):
                one, two = fakellm_factory(), fakellm_factory(layout="sglang-0.5.23")
                assert one.root_url != two.root_url
                one.say("One."), two.say("Two.")
                assert text(call(one)) == "One."
                assert len(one.requests) == 1 and two.requests == ()

            def test_undone(fakellm_factory):
                fakellm_factory().say("x").once()
            """,
        )

        result.assert_outcomes(passed=1, failed=1)
        result.stdout.fnmatch_lines(["*was played 0 of 1 times"])

    def test_a_setting_that_does_not_exist_is_told(self, run: Run) -> None:
        result = run("@pytest.mark.fakellm(layuot='x')\ndef test_it(fakellm):\n    pass\n")

        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(["*there is no setting 'layuot'*", "*did you mean 'layout'*"])

    def test_a_request_outside_of_any_test_is_refused_in_words(self, run: Run) -> None:
        result = run(
            """
            @pytest.fixture(scope="module")
            def early(fakellm_server):
                return call(fakellm_server)

            def test_it(early, fakellm):
                assert "no test is using fakellm now" in early["error"]["message"]
            """,
        )

        result.assert_outcomes(passed=1)

    def test_a_stalled_answer_does_not_hold_up_the_end(self, run: Run) -> None:
        result = run(
            """
            import socket

            def test_it(fakellm):
                fakellm.say("Hello").timing(first_token_ms=3_600_000)
                body = b'{"model": "m", "messages": [{"role": "user", "content": "x"}]}'
                head = b"POST /v1/chat/completions HTTP/1.1\\r\\nhost: x\\r\\ncontent-type: application/json\\r\\n"
                port = int(fakellm.root_url.rpartition(":")[2])
                client = socket.create_connection(("127.0.0.1", port))
                client.sendall(head + b"content-length: %d\\r\\n\\r\\n" % len(body) + body)
                while not fakellm.requests:
                    pass
            """,
        )

        result.assert_outcomes(passed=1)
        assert result.duration < 8.0
