"""Launch options are read as vLLM reads them; what the version does not have is refused with a suggestion."""

import pytest

from fakellm.errors import LayoutError
from fakellm.layouts.vllm.launch import options_table, parse_launch

NEWEST = (0, 32, 0)
OLDEST = (0, 10, 2)


def launched(*words, env=None, version=NEWEST):
    return parse_launch(words, env or {}, version)


@pytest.mark.parametrize(
    "words",
    [
        ("--max-model-len", "4096"),
        ("--max_model_len", "4096"),
        ("--max-model-len=4096",),
        ("--max-model-len", "4.096k"),
        ("--max-model-len", "4K"),
    ],
)
def test_spellings_of_one_option(words):
    assert 4096 == launched(*words).max_model_len


def test_flags_are_switched_on_and_off():
    assert launched("--enable-auto-tool-choice").enable_auto_tool_choice
    assert not launched("--enable-auto-tool-choice", "--no-enable-auto-tool-choice").enable_auto_tool_choice


def test_the_served_name_is_the_model_unless_named():
    assert ("org/model",) == launched("org/model").served_names
    assert ("a", "b") == launched("org/model", "--served-model-name", "a", "b", "--dtype", "auto").served_names


def test_short_names_and_json_values():
    settings = launched("-tp", "2", "--override-generation-config", '{"max_new_tokens": 7}')

    assert 2 == settings.tensor_parallel_size
    assert {"max_new_tokens": 7} == dict(settings.override_generation_config)


def test_options_without_effect_on_the_wire_are_named():
    settings = launched("--dtype", "bfloat16", "--enforce-eager", "--max-logprobs", "5")

    assert ("--dtype is accepted and does not change the wire",) == settings.notes[:1]
    assert 2 == len(settings.notes)
    assert 5 == settings.max_logprobs


def test_the_environment_opens_doors_and_the_command_line_wins_for_the_key():
    env = {"VLLM_SERVER_DEV_MODE": "1", "VLLM_ENABLE_RESPONSES_API_STORE": "0", "VLLM_API_KEY": "from-env"}

    settings = launched("--api-key", "from-words", env=env)

    assert settings.dev_mode
    assert not settings.responses_store
    assert ("from-words",) == settings.api_keys
    assert ("from-env",) == launched(env=env).api_keys


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--max-modl-len", "4"), "--max-model-len"),
        (("--guided-decoding-backend", "x"), "older versions"),
        (("--max-logprobs", "many"), None),
        (("--max-logprobs",), None),
        (("--fingerprint-mode", "half"), "full"),
        (("--default-chat-template-kwargs", "{"), None),
        (("--api-key", "k", "--enable-lora", "stray"), None),
    ],
)
def test_what_cannot_be_used_is_refused(words, hint):
    with pytest.raises(LayoutError) as refused:
        launched(*words)

    assert hint is None or hint in str(refused.value)


def test_an_option_of_a_newer_version_names_it():
    with pytest.raises(LayoutError, match=r"0\.32\.0"):
        launched("--enable-scale-out", version=(0, 28, 0))


def test_the_table_tells_what_changes_the_wire():
    table = options_table(OLDEST)

    assert table["max-logprobs"]
    assert not table["dtype"]
    assert "enable-scale-out" not in table
