"""``make golden-vllm``: what is asked of a real server, in which order, and how its answers and truths are kept."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from golden_vllm.capture import Captor
from golden_vllm.engine.rows import prompt_rows, row
from golden_vllm.wanted import Wanted, in_order, nearest

from fakellm.fidelity.recorded import Exchange, Folder, Masks, RecordedRequest, RecordedResponse, Server
from fakellm.tokenizer import load

TOKENIZER = load()


def exchange(name: str, path: str = "/v1/models", method: str = "GET", after: tuple[str, ...] = ()) -> Exchange:
    request = RecordedRequest(method, path, {})
    return Exchange(name, request, RecordedResponse(200, {}, ""), after=list(after))


def order(*exchanges: Exchange) -> list[str]:
    return [one.name for one in in_order({one.name: one for one in exchanges})]


class TestOrder:
    def test_what_may_change_the_server_comes_last(self) -> None:
        assert ["chat", "is_sleeping", "sleep"] == order(
            exchange("sleep", "/sleep", "POST"),
            exchange("chat", "/v1/chat/completions", "POST"),
            exchange("is_sleeping", "/is_sleeping"),
        )

    def test_a_follower_comes_right_after_the_one_that_it_follows(self) -> None:
        assert ["stored", "polled", "polled_again", "other"] == order(
            exchange("polled", after=("stored",)),
            exchange("stored", "/v1/responses", "POST"),
            exchange("polled_again", after=("stored",)),
            exchange("other"),
        )

    def test_a_chain_is_followed_to_its_end(self) -> None:
        assert ["first", "second", "third"] == order(
            exchange("third", after=("second",)), exchange("second", after=("first",)), exchange("first")
        )


def recorded_server(vendor: str, version: str) -> Folder:
    return Folder(f"{vendor}-{version}", Server(vendor, version), {}, {}, Masks())


class TestVersions:
    FOLDERS = (
        recorded_server("vllm", "0.10.2.post2"),
        recorded_server("vllm", "0.28.0"),
        recorded_server("sglang", "0.5.23"),
    )

    @pytest.mark.parametrize(
        "asked, found",
        [("0.28.0", ["vllm-0.28.0"]), ("0.33.1", ["vllm-0.28.0"]), ("0.10.2", ["vllm-0.10.2.post2"]), ("0.9.0", [])],
    )
    def test_the_requests_of_the_nearest_lower_version_are_asked(self, asked: str, found: list[str]) -> None:
        assert found == [folder.name for folder in nearest(self.FOLDERS, asked)]


class TestScores:
    TOKEN = {"id": 7, "logprob": -0.5, "rank": 2, "top": [{"id": 9, "logprob": -0.25}, {"id": 7, "logprob": -0.5}]}

    def test_known_candidates_are_told_as_they_are(self) -> None:
        told = row(self.TOKEN, 2)

        assert ([7, 9, 7], [-0.5, -0.25, -0.5], 2) == (told.ids, told.logprobs, told.rank)

    def test_further_candidates_are_made_up_below_them(self) -> None:
        told = row(self.TOKEN, 4)

        assert [7, 9, 7, 300, 301] == told.ids
        assert sorted(told.logprobs[1:], reverse=True) == told.logprobs[1:]

    def test_a_sampled_token_stands_at_its_rank(self) -> None:
        told = row({"id": 7, "logprob": None, "rank": 3}, 4)

        assert [7, 300, 301, 7, 302] == told.ids
        assert sorted(told.logprobs[1:], reverse=True) == told.logprobs[1:]
        assert told.logprobs[0] == told.logprobs[3]

    def test_ids_that_are_asked_for_come_in_their_order(self) -> None:
        told = row(self.TOKEN, 2, asked=(11, 9))

        assert ([7, 11, 9], -0.25) == (told.ids, told.logprobs[2])

    def test_minus_infinity_has_a_spelling(self) -> None:
        assert "-inf" == row({"id": 7, "logprob": "-inf", "rank": 9}, 1).to_truth()["logprob"]

    def test_a_prompt_has_no_score_for_its_first_token(self) -> None:
        assert [[5, 300], [6, 300]] == [told.ids for told in prompt_rows([4, 5, 6], None, 1)]


class Spoken(BaseHTTPRequestHandler):
    """Answers everything with the body that its server holds, and lets the engine's journal say what it says."""

    def do_POST(self) -> None:
        server: Any = self.server
        self.rfile.read(int(self.headers["content-length"]))
        server.speak()
        self.send_response(200)
        for name, value in server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(server.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing goes to stderr."""


@contextmanager
def answering(body: bytes, headers: dict[str, str], speak: Callable[[], None]) -> Iterator[int]:
    server: Any = HTTPServer(("127.0.0.1", 0), Spoken)
    server.body, server.headers, server.speak = body, headers, speak
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


HELLO = TOKENIZER.encode("Hello")[0]
LINE = {
    "prompt": 0,
    "place": 0,
    "prompt_token_ids": [1, 2],
    "prompt_logprobs": None,
    "choice": {"finish_reason": "stop", "tokens": [{"id": HELLO, "logprob": -0.5, "rank": 1, "top": []}]},
}


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "journal.jsonl"
    path.write_text('{"engine": {"timings": "all"}}\n')
    return path


def captured(journal: Path, body: str, said: list[dict[str, Any]], *, rejoined: bool = False, **headers: str) -> Captor:
    """One chat captured from a server that answers so, whose engine says so."""

    def speak() -> None:
        with journal.open("a") as lines:
            lines.writelines(json.dumps(line) + "\n" for line in said)

    sent = {"content-length": str(len(body)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    request = RecordedRequest("POST", "/v1/chat/completions", {}, body={"model": "tiny"})
    with answering(body.encode(), sent, speak) as port:
        captor = Captor(port, journal.with_name("play.json"), journal, TOKENIZER, Masks())
        captor.capture(Wanted("hello", request, ({"choices": []},), {"family": "chat"}, rejoined=rejoined))
    return captor


class TestCapture:
    def test_the_truth_is_what_the_engine_said_with_the_bytes_of_its_tokens(self, journal: Path) -> None:
        captor = captured(journal, "{}", [LINE])

        [name] = captor.exchanges["hello"]["truth"]
        [token] = captor.truths[name]["choices"][0]["tokens"]
        assert (HELLO, list(TOKENIZER.piece(HELLO))) == (token["id"], token["bytes"])
        assert [1, 2] == captor.truths[name]["prompt_token_ids"]

    def test_an_answer_without_the_engine_has_no_truth(self, journal: Path) -> None:
        assert captured(journal, "{}", []).exchanges["hello"]["truth"] is None

    def test_what_the_engine_says_of_itself_is_kept(self, journal: Path) -> None:
        assert {"timings": "all"} == captured(journal, "{}", []).engine

    def test_samples_that_differ_are_choices_of_one_truth(self, journal: Path) -> None:
        other = {**LINE, "place": 1, "choice": {**LINE["choice"], "finish_reason": "length"}}

        captor = captured(journal, "{}", [other, LINE])

        [truth] = captor.truths.values()
        assert ["stop", "length"] == [choice["finish_reason"] for choice in truth["choices"]]

    def test_a_stream_of_several_choices_is_compared_by_choice(self, journal: Path) -> None:
        rows = [{"choices": [{"index": index, "token_ids": [HELLO]}]} for index in (1, 0)]
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in rows)

        captor = captured(journal, body, [LINE], content_type="text/event-stream")

        assert "by-choice" == captor.exchanges["hello"]["compare"]

    def test_steps_that_a_server_joined_are_counted_by_their_text(self, journal: Path) -> None:
        ids = [*TOKENIZER.encode("Hello"), *TOKENIZER.encode(" there"), *TOKENIZER.eos_ids[:1]]
        said = {
            **LINE,
            "choice": {**LINE["choice"], "tokens": [{"id": one, "logprob": None, "top": []} for one in ids]},
        }
        rows = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in ("Hello", " there")]
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in rows)

        captor = captured(journal, body, [said], rejoined=True, content_type="text/event-stream")

        first = len(TOKENIZER.encode("Hello"))
        assert [[first, len(ids) - first]] == captor.exchanges["hello"]["chunks"]

    def test_an_answer_that_is_cut_is_marked(self, journal: Path) -> None:
        captor = captured(journal, "{}", [], content_length="9")

        assert ("{}", True) == tuple(captor.exchanges["hello"]["response"][name] for name in ("body", "truncated"))
