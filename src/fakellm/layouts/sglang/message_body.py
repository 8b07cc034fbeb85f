"""The messages of a chat request, version by version: roles, content parts, tool calls, and how each is refused."""

from __future__ import annotations

from typing import Any

from .body_parts import rows_of, since, tool
from .kinds import BOOL, FLOAT, INT, OBJECT, STR, either, listed, literal, model, nullable
from .loose import elements, members
from .schema import REQUIRED, Field, Kind, Members, Model, Place
from .traits import Version

_ROLES: tuple[tuple[Version, str], ...] = (
    ((0, 5, 1), "'system', 'assistant', 'tool', or 'function'"),
    ((0, 5, 9), "'system', 'developer', 'assistant', 'tool', or 'function'"),
    ((0, 5, 12), "'system', 'assistant', 'tool', 'function', 'developer', 'latest_reminder'"),
    ((0, 5, 22), "'system', 'assistant', 'tool', 'function', 'developer', 'latest_reminder', 'root'"),
)
"""The roles of messages that are not the user's, as the refusal lists them."""

_PART = "ChatCompletionMessageContent"
_THINKING_SINCE: Version = (0, 5, 17)
_PARTS_FOR_ALL: Version = (0, 5, 6)
_REFERENCES_SINCE: Version = (0, 5, 12)
_INLINE_AUDIO_SINCE: Version = (0, 5, 20)
_ONLY_ASSISTANTS_THINK = "thinking content parts are only valid in assistant messages"


def messages(version: Version) -> Kind:
    """The list of messages."""
    generic = Model(
        "ChatCompletionMessageGenericParam",
        rows_of(
            version,
            (
                Field("role", _lowered(), REQUIRED, _role_check(version), early=True),
                Field("content", _content(version, everything=version >= _PARTS_FOR_ALL)),
                Field("tool_call_id", nullable(STR)),
                Field("name", nullable(STR)),
                since(20, "phase", nullable(literal("commentary", "final_answer"))),
                Field("reasoning_content", nullable(STR)),
                Field("tool_calls", nullable(listed(model(_CALLED)))),
                since(9, "tools", nullable(listed(tool(version)))),
                since(21, "prefix", nullable(BOOL)),
            ),
        ),
        after=_thoughts_of_others if version >= _THINKING_SINCE else None,
    )
    user = Model(
        "ChatCompletionMessageUserParam",
        (
            Field("role", literal("user"), REQUIRED),
            Field("content", _content(version, everything=True, null=False), REQUIRED),
        ),
        after=_thoughts_of_users if version >= _THINKING_SINCE else None,
    )
    wrapped = version >= _THINKING_SINCE
    tags = [f"function-after[validate_thinking_parts_role(), {m.name}]" if wrapped else m.name for m in (generic, user)]
    return listed(either(model(generic, tags[0]), model(user, tags[1])))


def _role_check(version: Version) -> Any:
    roles = next(text for first, text in reversed(_ROLES) if version >= first)
    known = frozenset(word.strip("' ") for word in roles.replace("or ", "").split(","))

    def check(role: Any) -> None:
        if not isinstance(role, str):
            raise ValueError("'role' must be a string")
        if role.lower() not in known:
            raise ValueError(f"'role' must be one of {roles} (case-insensitive).")

    return check


def _lowered() -> Kind:
    def take(value: Any, place: Place) -> Any:
        return value.lower() if isinstance(value, str) else value

    return Kind("str", take)


def _content(version: Version, *, everything: bool, null: bool = True) -> Kind:
    """Text or parts. Up to 0.5.5 only users had parts that are no text."""
    parts = _parts(version) if everything else _text()
    kind = either(STR, listed(parts))
    return nullable(kind) if null else kind


def _parts(version: Version) -> Kind:
    kinds = [_text()]
    if version >= _THINKING_SINCE:
        kinds.append(model(_THINKING, f"function-after[validate_payload(), {_THINKING.name}]"))
    kinds += [_image(version), _video(version), _audio(version)]
    if version >= _REFERENCES_SINCE:
        kinds.append(_part("ToolReferenceBlock", "tool_reference", Field("name", STR, REQUIRED)))
    return either(*kinds)


def _part(name: str, kind: str, *fields: Field) -> Kind:
    return model(Model(f"{_PART}{name}", (Field("type", literal(kind), REQUIRED), *fields)))


def _text() -> Kind:
    return _part("TextPart", "text", Field("text", STR, REQUIRED))


def _image(version: Version) -> Kind:
    rows = (
        Field("url", STR, REQUIRED),
        Field("detail", nullable(literal("auto", "low", "high")), "auto"),
        since(9, "max_dynamic_patch", nullable(INT)),
        since(9, "min_dynamic_patch", nullable(INT)),
        since(21, "max_long_side_pixel", nullable(INT)),
        since(17, "content_hash", nullable(STR)),
    )
    url = Model(f"{_PART}ImageURL", rows_of(version, rows))
    modalities = nullable(literal("image", "multi-images", "video"))
    return _part("ImagePart", "image_url", Field("image_url", model(url), REQUIRED), Field("modalities", modalities))


def _video(version: Version) -> Kind:
    rows = (
        Field("url", STR, REQUIRED),
        since(9, "max_dynamic_patch", nullable(INT)),
        since(9, "min_dynamic_patch", nullable(INT)),
        since(20, "fps", nullable(FLOAT)),
        since(20, "max_frames", nullable(INT)),
        since(20, "max_tokens_per_frame", nullable(INT)),
        since(20, "max_image_tokens", nullable(INT)),
        since(21, "max_long_side_pixel", nullable(INT)),
    )
    url = Model(f"{_PART}VideoURL", rows_of(version, rows))
    return _part("VideoPart", "video_url", Field("video_url", model(url), REQUIRED))


def _audio(version: Version) -> Kind:
    url = Field("audio_url", model(Model(f"{_PART}AudioURL", (Field("url", STR, REQUIRED),))), REQUIRED)
    if version < _INLINE_AUDIO_SINCE:
        return _part("AudioPart", "audio_url", url)
    data = Model(f"{_PART}InputAudio", (Field("data", STR, REQUIRED), Field("format", literal("wav", "mp3"), REQUIRED)))
    inline = _part("AudioInlinePart", "input_audio", Field("input_audio", model(data), REQUIRED))
    both = either(_part("AudioURLPart", "audio_url", url), inline)
    return Kind(f"function-after[_to_audio_url_part(), {both.tag}]", both.take)


def _one_payload(values: Members) -> None:
    if (values["thinking"] is None) == (values["text"] is None):
        raise ValueError("thinking parts require exactly one of 'thinking' or 'text'")


def _thoughts_of_others(values: Members) -> None:
    if values["role"] != "assistant":
        _thoughts_of_users(values)


def _thoughts_of_users(values: Members) -> None:
    if any(members(part).get("type") in ("thinking", "reasoning") for part in elements(values["content"])):
        raise ValueError(_ONLY_ASSISTANTS_THINK)


_THINKING = Model(
    f"{_PART}ThinkingPart",
    (
        Field("type", literal("thinking", "reasoning"), REQUIRED),
        Field("thinking", nullable(STR)),
        Field("text", nullable(STR)),
    ),
    after=_one_payload,
)
_CALLED = Model(
    "ToolCall",
    (
        Field("id", nullable(STR)),
        Field("index", nullable(INT)),
        Field("type", literal("function"), "function"),
        Field(
            "function",
            model(
                Model(
                    "FunctionResponse",
                    (Field("name", nullable(STR)), Field("arguments", nullable(either(STR, OBJECT)))),
                )
            ),
            REQUIRED,
        ),
    ),
    extra=True,
)
