"""What is left of an answer that is aborted: the truth cut at the moment, and the bytes that are still to send."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fakellm.aborting import Board, CutTiming, cut, remaining, sent_frames, steps_due, unfinished
from fakellm.ask import Ask
from fakellm.generation import Choice, Generation
from fakellm.layouts.base import Which
from fakellm.message import Frame, Wire
from fakellm.timing import Dribble, Timing
from support.stages import Spoken, chat, spoken, stage

TIMING = Timing(first_token_ms=40, between_ms=20)


def gives_up(choice: Choice, steps: int) -> Choice:
    made = choice.steps[:steps]
    return Choice(choice.tokens[: sum(made)], (*made, 0), "abort")


def wire(*frames: tuple[bytes, float]) -> Wire:
    return Wire(200, (), tuple(Frame(data, due) for data, due in frames), stream=True)


def test_a_step_counts_from_the_moment_that_it_is_due() -> None:
    choice = spoken("one two three")

    assert [0, 1, 1, 2] == [steps_due(choice, TIMING.due, at) for at in (39.9, 40.0, 59.9, 60.0)]
    assert len(choice.steps) == steps_due(choice, TIMING.due, 1e9)


def test_only_the_choices_that_are_named_are_cut() -> None:
    choice = spoken("one two three")
    truth = (Generation((1,), (choice, choice)), Generation((2,), (choice, choice)))

    first, second = cut(truth, 2, {1: 65.0, 2: 10.0}, TIMING.due, gives_up)

    assert ("stop", "abort") == tuple(each.finish_reason for each in first.choices)
    assert choice.tokens[:2] == first.choices[1].tokens
    assert ((), (0,)) == (second.choices[0].tokens, second.choices[0].steps)
    assert choice is second.choices[1]


def test_the_truth_itself_stays_as_it_was() -> None:
    truth = (Generation((1,), (spoken("one two"),)),)

    cut(truth, 1, {0: 45.0}, TIMING.due, gives_up)

    assert "stop" == truth[0].choices[0].finish_reason


def test_nothing_is_due_after_the_cut() -> None:
    timing = CutTiming(Timing(first_token_ms=40, between_ms=20, dribble=Dribble(3, 1.0)), 65.0)

    assert [40.0, 60.0, 65.0, 65.0] == [timing.due(step) for step in range(4)]
    assert Dribble(3, 1.0) == timing.dribble


def test_a_choice_is_unfinished_until_its_last_step_is_due() -> None:
    played = stage(Spoken(spoken("one two"), timing=TIMING), plans=False).answer(chat("Hi")).behind()
    assert played is not None
    last = played.told.choices[0].steps[-1].due_ms

    assert (frozenset({0}), frozenset()) == (unfinished(played.told, last - 1), unfinished(played.told, last))


def test_what_has_left_is_taken_off_byte_by_byte() -> None:
    before = wire((b"role", 0.0), (b"one", 40.0), (b"two", 60.0))
    after = wire((b"role", 0.0), (b"one", 40.0), (b"abort", 65.0))

    assert (Frame(b"e", 65.0), Frame(b"abort", 65.0)) == remaining(before, 6, after, 65.0)
    assert (Frame(b"abort", 50.0),) == remaining(before, 7, after, 50.0)
    assert (Frame(b"abort", 65.0),) == remaining(before, 7, after, None)


def test_an_answer_that_begins_otherwise_loses_as_many_frames_as_had_left() -> None:
    before = wire((b"role", 0.0), (b"one", 40.0), (b"two", 60.0))
    after = wire((b"ROLE", 0.0), (b"uno", 40.0), (b"abort", 65.0))

    assert (Frame(b"abort", 65.0),) == remaining(before, 6, after, 65.0)


def test_the_frames_that_left_are_kept_as_they_left() -> None:
    before = wire((b"role", 0.0), (b"one", 40.0), (b"two", 60.0))

    assert (Frame(b"role", 0.0), Frame(b"on", 40.0)) == sent_frames(before.frames, 6)
    assert () == sent_frames(before.frames, 0)


class Aloft:
    """A flight that remembers which of its choices were aborted."""

    def __init__(self, *ids: str) -> None:
        self.ids: Sequence[str] = ids
        self.aborted: list[int] = []

    @property
    def ask(self) -> Ask:
        return Ask(api="chat", request=chat("Hi"), body={}, prompts=())

    def abort(self, choices: Collection[int]) -> int:
        self.aborted.extend(choices)
        return len(choices)


def board(*flights: Aloft) -> Board:
    made = Board()
    for flight in flights:
        made.add(flight)
    return made


def test_an_id_means_every_choice_that_has_it() -> None:
    one, two = Aloft("a", "a"), Aloft("b")

    assert 2 == board(one, two).abort(Which(("a", "c")))
    assert ([0, 1], []) == (one.aborted, two.aborted)


def test_no_ids_mean_everything() -> None:
    one, two = Aloft("a", "b"), Aloft("c")

    assert 3 == board(one, two).abort(Which())


def test_a_prefix_means_something_only_when_it_is_in_flight_itself() -> None:
    one, two, other = Aloft("ab"), Aloft("abc"), Aloft("b")

    assert 0 == board(one, two, other).abort(Which(("a",), prefix=True))
    assert 2 == board(one, two, other).abort(Which(("ab",), prefix=True))
    assert [] == other.aborted


def test_what_is_over_is_out_of_reach() -> None:
    flight = Aloft("a")
    made = board(flight)

    made.discard(flight)

    assert (0, 0) == (made.abort(Which()), len(made))


class Others:
    """Other processes that have three requests in hand."""

    def __init__(self) -> None:
        self.told: list[Which] = []
        self.had: list[int] = []

    def have(self, requests: int) -> None:
        self.had.append(requests)

    def requests(self) -> int:
        return 3

    def abort(self, which: Which) -> None:
        self.told.append(which)


def test_other_processes_are_told_and_counted() -> None:
    others = Others()
    made = Board(lambda ask: 2, others)
    flight = Aloft("a")

    made.add(flight)
    assert 5 == made.requests()
    made.abort(Which(("x",)))
    made.discard(flight)
    made.discard(flight)

    assert ([2, 0], [Which(("x",))], 3) == (others.had, others.told, made.requests())
