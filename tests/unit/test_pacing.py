"""Dribbling: the same bytes, in small packets, never too early."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fakellm.message import Frame, Wire
from fakellm.pacing import dribbled
from fakellm.timing import Dribble

FRAMES = st.lists(st.builds(Frame, st.binary(max_size=40), st.floats(0, 1000)), max_size=6).map(
    lambda frames: tuple(sorted(frames, key=lambda frame: frame.due_ms))
)


def wire(*frames: Frame) -> Wire:
    return Wire(200, (), frames, stream=True)


def test_a_frame_is_cut_and_its_packets_follow_one_another() -> None:
    sent = dribbled(wire(Frame(b"abcde", 10.0)), Dribble(bytes=2, every_ms=5.0))

    assert (Frame(b"ab", 10.0), Frame(b"cd", 15.0), Frame(b"e", 20.0)) == sent.frames
    assert not sent.coalesce


def test_a_later_frame_waits_for_its_turn_and_for_its_own_time() -> None:
    sent = dribbled(wire(Frame(b"abcd", 0.0), Frame(b"e", 1.0), Frame(b"f", 99.0)), Dribble(bytes=2, every_ms=5.0))

    assert [0.0, 5.0, 10.0, 99.0] == [frame.due_ms for frame in sent.frames]


@given(FRAMES, st.integers(1, 50), st.floats(0, 50))
def test_no_byte_is_lost_no_packet_is_too_large_none_leaves_early(
    frames: tuple[Frame, ...], size: int, every_ms: float
) -> None:
    sent = dribbled(wire(*frames), Dribble(size, every_ms)).frames

    assert b"".join(frame.data for frame in frames) == b"".join(frame.data for frame in sent)
    assert all(0 < len(frame.data) <= size for frame in sent)
    due = [frame.due_ms for frame in sent]
    assert due == sorted(due)
    earliest = [frame.due_ms for frame in frames for _ in range(0, len(frame.data), size)]
    assert all(wanted <= given for wanted, given in zip(earliest, due, strict=True))
