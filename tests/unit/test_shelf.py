"""A shelf keeps what was made last and has the rest made again."""

from __future__ import annotations

from fakellm.shelf import Behind, Shelf


def counted(shelf: Shelf[str], name: str, made: list[str], tokens: int = 1) -> Behind[str]:
    """A thing that notes each time it is made."""

    def make() -> str:
        made.append(name)
        return name

    return Behind(shelf, make, lambda _: tokens)


def test_nothing_is_made_before_it_is_asked_for_and_then_once() -> None:
    made: list[str] = []
    behind = counted(Shelf(10), "one", made)

    assert [] == made
    assert ("one", "one") == (behind(), behind())
    assert ["one"] == made


def test_the_oldest_is_let_go_and_made_again_when_asked_for() -> None:
    made: list[str] = []
    shelf: Shelf[str] = Shelf(10)
    first, second = counted(shelf, "first", made, 6), counted(shelf, "second", made, 6)

    first()
    second()

    assert (None, "second", 6) == (first.made, second.made, shelf.tokens)
    assert "first" == first()
    assert ["first", "second", "first"] == made


def test_the_newest_is_kept_however_long_it_is() -> None:
    shelf: Shelf[str] = Shelf(10)
    behind = counted(shelf, "long", [], 1000)

    behind()

    assert ("long", 1000) == (behind.made, shelf.tokens)


def test_what_is_at_hand_already_is_not_made() -> None:
    made: list[str] = []
    shelf: Shelf[str] = Shelf(10)

    assert "here" == Behind(shelf, lambda: made.append("x") or "made", lambda _: 3, "here")()
    assert ([], 3) == (made, shelf.tokens)


def test_a_cleared_shelf_keeps_nothing() -> None:
    shelf: Shelf[str] = Shelf(10)
    behind = counted(shelf, "one", [])
    behind()

    shelf.clear()

    assert (None, 0) == (behind.made, shelf.tokens)
