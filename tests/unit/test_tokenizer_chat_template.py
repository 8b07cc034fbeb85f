"""Chat templates: what they may use, how a final message is continued, how they fail."""

from __future__ import annotations

from typing import Any

import pytest

from fakellm.errors import TokenizerError
from fakellm.tokenizer import load
from fakellm.tokenizer.chat_template import is_timeless, render

PLAIN = (
    "{% for m in messages %}[{{ m.role }}]{{ m.content }}[end]{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)
TRIMMING = "{% for m in messages %}[{{ m.role }}]{{ m.content | trim }}[end]{% endfor %}"


def say(content: Any, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": content}


class TestEnvironment:
    def test_blocks_leave_no_blank_lines(self) -> None:
        assert "a\nb\n" == render("{% if true %}\na\n  {% endif %}\nb\n\n", [], {})

    def test_tojson_keeps_letters_and_angle_brackets(self) -> None:
        assert '{"a": "<é>"}' == render("{{ x | tojson }}", [], {"x": {"a": "<é>"}})

    def test_tojson_takes_an_indent(self) -> None:
        assert '{\n  "a": 1\n}' == render("{{ x | tojson(indent=2) }}", [], {"x": {"a": 1}})

    def test_loops_may_be_left(self) -> None:
        assert "ab" == render("{% for x in 'abcd' %}{% if x == 'c' %}{% break %}{% endif %}{{ x }}{% endfor %}", [], {})

    def test_generation_blocks_show_what_is_in_them(self) -> None:
        assert "a-b-c" == render("a-{% generation %}{{ 'b' }}{% endgeneration %}-c", [], {})

    def test_the_clock_can_be_given(self) -> None:
        assert "at %Y" == render("{{ strftime_now('%Y') }}", [], {"strftime_now": lambda spelling: f"at {spelling}"})

    def test_only_templates_without_a_clock_are_timeless(self) -> None:
        assert [True, False] == [is_timeless(PLAIN), is_timeless("{{ strftime_now('%Y') }}")]

    def test_the_machines_clock_is_the_default(self) -> None:
        assert render("{{ strftime_now('%Y') }}", [], {}).isdigit()

    def test_variables_reach_the_template(self) -> None:
        assert "no thinking" == load().render_chat(
            [], template="{{ 'thinking' if enable_thinking else 'no thinking' }}", variables={"enable_thinking": False}
        )


class TestFailures:
    def test_a_templates_own_words_are_the_message(self) -> None:
        with pytest.raises(TokenizerError) as refused:
            render("{{ raise_exception('Roles must alternate') }}", [], {})

        assert "Roles must alternate" == refused.value.message

    @pytest.mark.parametrize(
        ("source", "told"),
        [
            ("{% if %}", "Expected an expression"),
            ("{{ messages[0].content.x.y }}", "no attribute 'x'"),
            ("{{ 1 + 'a' }}", "TypeError"),
            ("{{ 1 / 0 }}", "ZeroDivisionError"),
            ("{% include 'x' %}", "no loader"),
            ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "recurses without end"),
            ("{{ ''.__class__.__mro__ }}", "unsafe"),
            ("{{ messages.append(1) }}", "unsafe"),
            ("{{ range(10000000) }}", "Range too big"),
        ],
    )
    def test_every_failure_is_a_tokenizer_error(self, source: str, told: str) -> None:
        with pytest.raises(TokenizerError, match=told):
            render(source, [say("Hi")], {})


class TestContinuing:
    def test_the_text_ends_where_the_final_content_ends(self) -> None:
        messages = [say("Hi"), say("Sure, ", "assistant")]

        assert "[user]Hi[end][assistant]Sure, " == load().render_chat(
            messages, template=PLAIN, add_generation_prompt=False, continue_final_message=True
        )

    def test_a_template_that_trims_contents_trims_the_end_too(self) -> None:
        messages = [say("Hi"), say("Sure, ", "assistant")]

        assert "[user]Hi[end][assistant]Sure," == load().render_chat(
            messages, template=TRIMMING, add_generation_prompt=False, continue_final_message=True
        )

    def test_of_parts_the_last_text_is_continued(self) -> None:
        parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "image"}]
        template = "{% for p in messages[0].content %}<{{ p.text }}>{% endfor %}"

        assert "<a><b" == render(template, [say(parts)], {}, add_generation_prompt=False, continue_final_message=True)

    def test_the_messages_themselves_are_left_alone(self) -> None:
        parts = [{"type": "text", "text": "a"}]

        render(
            "{{ messages[0].content[0].text }}",
            [say(parts)],
            {},
            add_generation_prompt=False,
            continue_final_message=True,
        )

        assert [{"type": "text", "text": "a"}] == parts

    @pytest.mark.parametrize("messages", [[], [say(None)], [say([])], [say([{"type": "image"}])]])
    def test_without_text_there_is_nothing_to_continue(self, messages: list[dict[str, Any]]) -> None:
        with pytest.raises(TokenizerError, match="no text that could be continued"):
            render(PLAIN, messages, {}, add_generation_prompt=False, continue_final_message=True)

    def test_a_template_that_hides_the_content_cannot_continue_it(self) -> None:
        with pytest.raises(TokenizerError, match="does not show it"):
            render("{{ messages | length }}", [say("Hi")], {}, add_generation_prompt=False, continue_final_message=True)

    def test_continuing_and_a_generation_prompt_exclude_each_other(self) -> None:
        with pytest.raises(TokenizerError, match="cannot be followed by a generation prompt"):
            render(PLAIN, [say("Hi")], {}, add_generation_prompt=True, continue_final_message=True)


class TestRemembering:
    def test_a_changed_conversation_is_rendered_anew(self) -> None:
        messages = [say("one")]
        first = load().render_chat(messages, template=PLAIN)
        messages[0]["content"] = "two"

        assert ("[user]one[end][assistant]", "[user]two[end][assistant]") == (
            first,
            load().render_chat(messages, template=PLAIN),
        )

    def test_values_that_are_not_json_are_rendered_all_the_same(self) -> None:
        assert "[user]Hi[end][assistant]seven" == load().render_chat(
            [say("Hi")], template=PLAIN + "{{ f() }}", variables={"f": lambda: "seven"}
        )
