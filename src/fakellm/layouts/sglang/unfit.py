"""The routes of other kinds of models, as a server with a text generation model answers them: it refuses, in the words
of each route. Embeddings, classification, reranking, scores of labels.

Where the refusal depends on the input, the input is looked at as SGLang does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ...ask import Request
from ...message import Rendering
from ..base import Context
from . import answers
from .bodies import read_body
from .body_parts import rows_of, since, until
from .engine_rules import EMPTY_TEXT
from .inputs import model_of
from .kinds import BOOL, FLOAT, INT, OBJECT, STR, either, listed, literal, nullable
from .kinds import model as kind_of
from .loose import elements
from .route import Handler, Route, versions
from .schema import REQUIRED, Field, Kind, Model
from .traits import Trait, Version

if TYPE_CHECKING:
    from .station import SglangStation

NO_EMBEDDING = (
    "This model does not appear to be an embedding model by default. Please add `--is-embedding` when launching the "
    "server or try another model."
)
_NOTHING_GIVEN = "At least one of text, input_ids, image, video, or audio should be provided"
_NOTHING_GIVEN_BEFORE = "At least one of text, input_ids, or image should be provided"
_LABELS = "label_token_ids is required for generation (CausalLM) models."
_LABELS_BEFORE = "label_token_ids must be provided"
Check = Callable[[Mapping[str, Any], "SglangStation"], str | None]


def _native(request: Request, station: SglangStation, context: Context) -> Rendering:
    """/encode and /classify."""
    model = model_of("EmbeddingReqInput", station.traits.version)
    body = read_body(request, model, station.traits, json_only=False)
    if isinstance(body, Rendering):
        return body
    given = [body.values[name] for name in ("text", "input_ids", "image_data", "video_data", "audio_data")]
    if all(value is None for value in given) and body.values["input_embeds"] is None:
        few = station.traits.has(Trait.TEXT_OR_IMAGE)
        return answers.native_error(_NOTHING_GIVEN_BEFORE if few else _NOTHING_GIVEN)
    if body.values["text"] == []:
        return answers.json_answer([])
    if body.values["text"] == "" and station.traits.has(Trait.NO_EMPTY_TEXT):
        return answers.native_error(EMPTY_TEXT)
    return answers.native_error(NO_EMBEDDING)


def _refusing(model: Callable[[Version], Model], check: Check) -> Handler:
    """An OpenAI route that says what is wrong with the input, else that the model is none of its kind."""

    def handle(request: Request, station: SglangStation, context: Context) -> Rendering:
        body = read_body(request, model(station.traits.version), station.traits, json_only=True)
        if isinstance(body, Rendering):
            return body
        return answers.error(check(body.values, station) or NO_EMBEDDING)

    return handle


_BOTH = Model("MultimodalEmbeddingInput", tuple(Field(name, nullable(STR)) for name in ("text", "image", "video")))
_INPUT = either(listed(INT), listed(listed(INT)), STR, listed(STR), listed(kind_of(_BOTH)))


def _part(name: str, kind: str, member: str, value: Kind) -> Kind:
    return kind_of(
        Model(f"ChatCompletionMessageContent{name}Part", (_must("type", literal(kind)), _must(member, value)))
    )


def _must(name: str, kind: Kind) -> Field:
    return Field(name, kind, REQUIRED)


_CONTENT = either(
    STR,
    listed(
        either(
            _part("Text", "text", "text", STR),
            _part("Image", "image_url", "image_url", OBJECT),
            _part("Video", "video_url", "video_url", OBJECT),
        )
    ),
)
"""What is ranked: words, or parts of several kinds."""


@cache
def _embedding(version: Version) -> Model:
    rows = (
        Field("input", _INPUT, REQUIRED),
        Field("model", STR, "default"),
        Field("encoding_format", STR, "float"),
        Field("dimensions", nullable(INT)),
        Field("user", nullable(STR)),
        Field("rid", nullable(either(listed(STR), STR))),
        Field("priority", nullable(INT)),
        since(9, "lora_path", nullable(either(listed(nullable(STR)), STR))),
    )
    return Model("EmbeddingRequest", rows_of(version, rows))


@cache
def _classified(version: Version) -> Model:
    rows = (
        Field("model", STR, "default"),
        Field("input", either(STR, listed(STR), listed(INT)), REQUIRED),
        Field("user", nullable(STR)),
        Field("rid", nullable(either(listed(STR), STR))),
        Field("priority", nullable(INT)),
    )
    return Model("ClassifyRequest", rows_of(version, rows))


@cache
def _ranked(version: Version) -> Model:
    rows = (
        until(9, "query", STR, REQUIRED),
        since(9, "query", _CONTENT, REQUIRED),
        until(9, "documents", listed(STR), REQUIRED),
        since(9, "documents", listed(_CONTENT), REQUIRED),
        since(9, "instruct", nullable(STR)),
        since(9, "top_n", nullable(INT)),
        since(9, "return_documents", BOOL, default=True),
    )
    return Model("V1RerankReqInput", rows_of(version, rows))


@cache
def _scored(version: Version) -> Model:
    words = either(STR, listed(INT))
    rows = (
        Field("query", nullable(words)),
        Field("items", nullable(either(STR, listed(STR), listed(listed(INT))))),
        Field("label_token_ids", nullable(listed(INT))),
        Field("apply_softmax", BOOL, default=False),
        since(13, "temperature", FLOAT, 1.0),
        Field("item_first", BOOL, default=False),
        Field("model", STR, "default"),
    )
    return Model("ScoringRequest", rows_of(version, rows))


def _empty_input(values: Mapping[str, Any], station: SglangStation) -> str | None:
    given = values["input"]
    if not given or (isinstance(given, str) and not given.strip()):
        return "Input cannot be empty"
    return _bad_member(elements(given)) if isinstance(given, list) else None


def _bad_member(given: Sequence[Any]) -> str | None:
    for place, one in enumerate(given):
        if isinstance(one, int) and one < 0:
            return f"Token ID at index {place} must be non-negative"
        if isinstance(one, str) and not one.strip():
            return f"Input at index {place} cannot be empty or whitespace only"
    return None


def _empty_query(values: Mapping[str, Any], station: SglangStation) -> str | None:
    query = values["query"]
    if not query or (isinstance(query, str) and not query.strip()):
        return "Query cannot be empty"
    return None if values["documents"] else "Documents cannot be empty"


def _no_labels(values: Mapping[str, Any], station: SglangStation) -> str | None:
    labels = values["label_token_ids"]
    if labels is None:
        return _LABELS if station.traits.has(Trait.LABELS_REQUIRED) else _LABELS_BEFORE
    return "scores of labels are not imitated"


UNFIT: Mapping[str, Route] = {
    "/encode": Route(("POST", "PUT"), _native),
    "/classify": Route(("POST", "PUT"), _native),
    "/v1/embeddings": Route(("POST",), _refusing(_embedding, _empty_input)),
    "/v1/classify": Route(("POST",), _refusing(_classified, _empty_input), versions(6)),
    "/v1/rerank": Route(("POST", "PUT"), _refusing(_ranked, _empty_query)),
    "/v1/score": Route(("POST",), _refusing(_scored, _no_labels)),
}
"""Path -> route."""
