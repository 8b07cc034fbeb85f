"""The keys of a scenario file: pydantic models that check shape and types, and the JSON Schema made of them.

They describe what a person writes; ``build.py`` turns them into the frozen values of ``model.py``. Types are strict (a
number is not text, ``yes`` is not true) and unknown keys are errors. Tags of unions begin with ``~`` so that no error
path takes one for a key. This module reads no file and gives no meaning to anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

NonNegative = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Milliseconds = Annotated[float, Field(ge=0, le=86_400_000, allow_inf_nan=False)]


class Form(BaseModel):
    """A mapping with known keys only."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="wrap")
    @classmethod
    def _only_known_keys(cls, data: Any, handler: ValidatorFunctionWrapHandler) -> Any:
        if isinstance(data, Mapping):
            known = [field.alias or name for name, field in cls.model_fields.items()]
            for key in cast(Mapping[Any, Any], data):
                if key not in known and cls.model_config.get("extra") == "forbid":
                    raise PydanticCustomError("unknown_key", "unknown key", {"key": str(key), "known": known})
        return handler(data)


def _kind(text: str, mapping: str) -> Any:
    """Tells a plain value from a mapping."""

    def kind(value: Any) -> str:
        return mapping if isinstance(value, Mapping | BaseModel) else text

    return kind


class TextRuleForm(Form):
    """How a text is compared; exactly one key."""

    equals: str | None = None
    contains: str | None = None
    regex: str | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> TextRuleForm:
        if len(self.model_fields_set) != 1:
            raise PydanticCustomError("one_rule", "exactly one of equals, contains and regex must stand here")
        return self


TextRule = Annotated[
    Annotated[str, Tag("~text")] | Annotated[TextRuleForm, Tag("~rule")], Discriminator(_kind("~text", "~rule"))
]


def _words(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class WhenForm(Form):
    """The conditions of a reply; all must hold."""

    api: Annotated[
        list[str],
        BeforeValidator(_words, json_schema_input_type=str | list[str]),
        Field(min_length=1, description="chat, completions, responses, generate, tito, messages ...; one or a list"),
    ] = Field(default=[])
    model: Annotated[TextRule | None, Field(description="the model name of the request")] = None
    stream: Annotated[bool | None, Field(description="whether a stream is asked for")] = None
    last_message: Annotated[TextRule | None, Field(description="text of the last message")] = None
    messages: Annotated[TextRule | None, Field(description="text of any message")] = None
    system: Annotated[TextRule | None, Field(description="text of the system and developer messages")] = None
    prompt: Annotated[TextRule | None, Field(description="the prompt after the chat template, of any prompt")] = None
    json_: Annotated[
        dict[str, Any],
        Field(alias="json", description="path.to.field of the body -> value, or {equals|contains|regex|present: ...}"),
    ] = Field(default={})
    headers: Annotated[dict[str, TextRule], Field(description="header name -> rule")] = Field(default={})
    flags: Annotated[list[str], Field(description="fields of the body that are neither null nor false")] = Field(
        default=[]
    )
    turn: Annotated[
        Positive | None, Field(description="which answer of the conversation: 1 + the assistant's messages so far")
    ] = None
    call: Annotated[Positive | None, Field(description="the how-manieth request to this scenario, from 1")] = None


def _token(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise PydanticCustomError("token", "a token is an id or a piece", {"value": repr(value)})
    return value


TokenForm = Annotated[int | str, BeforeValidator(_token)]


def _logprob(value: Any) -> Any:
    if value == "-inf":
        return float("-inf")
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not value <= 0):
        raise PydanticCustomError("logprob", "a logprob is a number not above 0", {"value": repr(value)})
    return value


Logprob = Annotated[
    float | None,
    BeforeValidator(_logprob),
    WithJsonSchema({"anyOf": [{"type": "number", "maximum": 0}, {"const": "-inf"}, {"type": "null"}]}),
]


class TopForm(Form):
    """One alternative."""

    token: TokenForm
    logprob: Annotated[
        float,
        BeforeValidator(_logprob),
        WithJsonSchema({"anyOf": [{"type": "number", "maximum": 0}, {"const": "-inf"}]}),
    ]


class ScoreForm(Form):
    """A score with its rank or alternatives."""

    logprob: Logprob
    rank: Positive | None = None
    top: list[TopForm] | None = None


ScoreEntry = Annotated[
    Annotated[Logprob, Tag("~number")] | Annotated[ScoreForm, Tag("~score")], Discriminator(_kind("~number", "~score"))
]


def _scores_kind(value: Any) -> str:
    return "~list" if isinstance(value, list) else "~word"


Logprobs = Annotated[
    Annotated[Literal["auto", "recorded"], Tag("~word")] | Annotated[list[ScoreEntry], Tag("~list")],
    Discriminator(_scores_kind),
]
Steps = Annotated[
    Annotated[Positive, Tag("~word")] | Annotated[list[NonNegative], Tag("~list")], Discriminator(_scores_kind)
]


class FailureForm(Form):
    """What a failing engine says."""

    message: str
    code: int | None = None


class ChoiceForm(Form):
    """What the engine does with one choice; in a reply it holds for every choice that does not say otherwise."""

    finish_reason: Annotated[
        Literal["stop", "length", "abort", "error"] | None, Field(description="what the engine reports at the end")
    ] = None
    stop_reason: Annotated[
        int | str | None, Field(description="the stop id or string that the engine itself reports")
    ] = None
    eos: Annotated[bool | None, Field(description="append the end token; default: when finish_reason is stop")] = None
    steps: Annotated[Steps | None, Field(description="tokens per engine step: one number, or a list")] = None
    logprobs: Annotated[Logprobs | None, Field(description="auto, recorded, or one score a token")] = None
    finish_at: Annotated[NonNegative | None, Field(description="the engine reports its end after so many tokens")] = (
        None
    )
    error_at: Annotated[NonNegative | None, Field(description="the engine fails after so many tokens")] = None
    abort_at: Annotated[NonNegative | None, Field(description="the engine aborts after so many tokens")] = None
    error: Annotated[FailureForm | None, Field(description="what the failing engine says")] = None


class SayTextForm(ChoiceForm):
    """Text with options."""

    text: str


class SayTokensForm(ChoiceForm):
    """Ids (numbers) and pieces (text) of a tokenisation of one's own."""

    tokens: list[TokenForm]


class ToolCallForm(Form):
    """A tool call; arguments as a mapping, or as text that is sent as it stands."""

    name: str
    arguments: Any = Field(default=cast(dict[str, Any], {}))


class SayStructureForm(ChoiceForm):
    """Reasoning, content and tool calls."""

    reasoning: str | None = None
    content: str | None = None
    tool_calls: list[ToolCallForm] = Field(default=[])


class AutoForm(Form):
    """Plausible text."""

    tokens: Annotated[
        Annotated[int, Field(ge=1, le=1_000_000)] | None, Field(description="how many, the end token included")
    ] = None
    from_request: Annotated[bool, Field(description="take up words of the request")] = False


class SayAutoForm(ChoiceForm):
    """Plausible text with options."""

    auto: AutoForm


class SayFromForm(Form):
    """A recorded exchange, or a truth of the golden library."""

    from_: Annotated[str, Field(alias="from", description="file, relative to the scenario's folder")]
    truth: Annotated[str | None, Field(description="which truth of a truths.json")] = None
    exchange: Annotated[str | None, Field(description="which exchange of a .jsonl recording, by name")] = None
    prompt: Annotated[Literal["recorded", "request"], Field(description="whose prompt ids are told")] = "recorded"
    logprobs: Literal["recorded", "auto"] = "recorded"


_SAY_KEYS: tuple[tuple[str, frozenset[str]], ...] = (
    ("~choices", frozenset(("choices",))),
    ("~from", frozenset(("from",))),
    ("~auto", frozenset(("auto",))),
    ("~tokens", frozenset(("tokens",))),
    ("~text", frozenset(("text",))),
    ("~structure", frozenset(("reasoning", "content", "tool_calls"))),
)


def _say_kind(value: Any) -> str | None:
    if isinstance(value, str):
        return "~plain"
    if isinstance(value, Mapping):
        keys = set(cast(Mapping[str, Any], value))
        return next((tag for tag, marks in _SAY_KEYS if keys & marks), None)
    return None


_SAY_ERROR = "one of text, tokens, content, reasoning, tool_calls, auto, from and choices must stand here"

SayOne = Annotated[
    Annotated[str, Tag("~plain")]
    | Annotated[SayTextForm, Tag("~text")]
    | Annotated[SayTokensForm, Tag("~tokens")]
    | Annotated[SayStructureForm, Tag("~structure")]
    | Annotated[SayAutoForm, Tag("~auto")],
    Discriminator(_say_kind, custom_error_type="say", custom_error_message=_SAY_ERROR),
]


class SayChoicesForm(Form):
    """What each choice of a request with n > 1 says."""

    choices: Annotated[list[SayOne], Field(min_length=1)]


Say = Annotated[
    Annotated[str, Tag("~plain")]
    | Annotated[SayTextForm, Tag("~text")]
    | Annotated[SayTokensForm, Tag("~tokens")]
    | Annotated[SayStructureForm, Tag("~structure")]
    | Annotated[SayAutoForm, Tag("~auto")]
    | Annotated[SayFromForm, Tag("~from")]
    | Annotated[SayChoicesForm, Tag("~choices")],
    Discriminator(_say_kind, custom_error_type="say", custom_error_message=_SAY_ERROR),
]


class LogNormalParameters(Form):
    """Median in milliseconds, and the standard deviation of the logarithm."""

    median: Milliseconds
    sigma: Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]


class LogNormalForm(Form):
    """A delay drawn from a log-normal distribution."""

    lognormal: LogNormalParameters


Delay = Annotated[
    Annotated[Milliseconds, Tag("~number")] | Annotated[LogNormalForm, Tag("~drawn")],
    Discriminator(_kind("~number", "~drawn")),
]


class DribbleForm(Form):
    """So many bytes a write, so many milliseconds between writes."""

    bytes: Positive
    every_ms: Milliseconds


class TimingForm(Form):
    """When tokens are due."""

    first_token_ms: Delay = 0.0
    between_ms: Delay = 0.0
    dribble: DribbleForm | None = None


def _fault_kind(value: Any) -> str:
    return "~fault" if isinstance(value, Mapping) else "~name"


FaultEntry = Annotated[
    Annotated[str, Tag("~name")] | Annotated[dict[str, Any], Field(min_length=1, max_length=1), Tag("~fault")],
    Discriminator(_fault_kind),
]


class AnswerForm(ChoiceForm):
    """What a reply says and how; also each entry of ``then:``."""

    say: Say
    faults: Annotated[list[FaultEntry], Field(description="ids, or {id: {parameter: value}}")] = Field(default=[])
    timing: TimingForm | None = None
    top: Annotated[NonNegative, Field(description="alternatives that the truth holds at least")] = 0
    prompt_token_ids: Annotated[list[int] | None, Field(description="the prompt's ids, instead of the tokenizer's")] = (
        None
    )
    prompt_logprobs: Annotated[Logprobs | None, Field(description="auto, or one score a prompt token")] = None
    weight_version: str | None = None
    cached_tokens: NonNegative | None = None
    extras: Annotated[dict[str, Any], Field(description="opaque values that a choice carries, by name")] = Field(
        default={}
    )


class ReplyForm(AnswerForm):
    """One answer and when it is given."""

    when: Annotated[WhenForm, Field(description="no `when` = always")] = Field(default=WhenForm())
    times: Annotated[Positive | None, Field(description="how often; default without limit, once with `then`")] = None
    then: Annotated[list[AnswerForm], Field(description="what follows, one a matching request")] = Field(default=[])


class ServerForm(Form):
    """The server that this scenario is for. Every other key is an option of the vendor's, written as the vendor
    does."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    layout: Annotated[str | None, Field(description="vendor[-version], for example vllm-0.32.0")] = None
    model: Annotated[str | None, Field(description="the served name; without it any name is served")] = None
    tokenizer: Annotated[str | None, Field(description="name, .tiktoken file or Hugging Face folder")] = None
    env: Annotated[dict[str, str], Field(description="environment variables that change the wire")] = Field(default={})


class ScenarioForm(Form):
    """A scenario file."""

    title: str | None = None
    why: str | None = None
    server: ServerForm = Field(default=ServerForm())
    replies: Annotated[list[ReplyForm], Field(min_length=1)]


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a scenario file, for editors."""
    schema = ScenarioForm.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "fakellm scenario"}
