"""The reference client on any bytes: it gives a capture or refuses, and never breaks; cuts change nothing."""

from __future__ import annotations

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from fakellm.capture import Capture
from fakellm.reading.events import EventParser
from fakellm.reading.reader import Reader
from fakellm.reading.refusal import Refused
from support.examples import FUZZED
from support.stages import Spoken, body_of, post, spoken, stage

APIS = {
    "chat": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}], "logprobs": True}),
    "completions": ("/v1/completions", {"prompt": "Hi", "logprobs": 2}),
    "responses": ("/v1/responses", {"input": "Hi"}),
    "messages": ("/v1/messages", {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9}),
}
PIECES = st.sampled_from(
    (b"data: ", b"\n", b"\r\n", b"\n\n", b"{", b"}", b"[", b"]", b'"', b":", b"[DONE]", b"\xff", b"e")
)


@cache
def real(api: str, stream: bool) -> bytes:
    """An answer as vLLM sends it."""
    path, body = APIS[api]
    playing = stage(Spoken(spoken("Hello there")))
    return body_of(playing.answer(post(path, {"model": "tiny", "stream": stream, "return_token_ids": True, **body})))


@st.composite
def spoiled(draw: st.DrawFn) -> tuple[str, bytes]:
    api = draw(st.sampled_from(sorted(APIS)))
    data = real(api, draw(st.booleans()))
    for _ in range(draw(st.integers(0, 4))):
        first = draw(st.integers(0, len(data)))
        last = min(len(data), first + draw(st.integers(0, 40)))
        data = data[:first] + draw(PIECES | st.binary(max_size=6) | st.just(data[first:last] * 2)) + data[last:]
    return api, data


def outcome(api: str, pieces: list[bytes], stream: bool, cut: bool) -> Capture | str:
    reader = Reader(api=api, stream=stream)
    for piece in pieces:
        reader.feed(piece)
    try:
        return reader.capture(cut=cut)
    except Refused as refused:
        return str(refused)
    finally:
        reader.as_sent()


@FUZZED
@given(st.tuples(st.sampled_from(sorted(APIS)), st.binary(max_size=60)) | spoiled(), st.booleans(), st.booleans())
def test_any_bytes_give_a_capture_or_a_refusal(given_: tuple[str, bytes], stream: bool, cut: bool) -> None:
    api, data = given_

    assert outcome(api, [data], stream, cut) == outcome(api, [bytes((byte,)) for byte in data], stream, cut)


@FUZZED
@given(st.lists(PIECES | st.binary(max_size=5), max_size=12), st.integers(0, 60))
def test_events_do_not_depend_on_where_the_bytes_are_cut(pieces: list[bytes], at: int) -> None:
    data = b"".join(pieces)
    whole, parts = EventParser(), EventParser()

    assert list(whole.feed(data)) == [*parts.feed(data[:at]), *parts.feed(data[at:])]
    assert whole.close() == parts.close()
