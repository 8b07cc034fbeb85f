"""The learned shapes: up to date, true to every capture, and neither too strict nor too lax for what was left out."""

import copy
import lzma
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from derive_shapes import MAPS, OPAQUE, classified, derive, packed

from fakellm.conform.shape import Shapes, shapes, violations
from fakellm.fidelity.library import Library
from fakellm.fidelity.recorded import Folder
from fakellm.resources import resource

Message = tuple[Folder, str, str, bool, str, dict[str, Any]]


@pytest.fixture(scope="module")
def folders() -> Iterator[list[Folder]]:
    with Library([resource("golden")]) as library:
        yield [folder for folder in library.folders if not folder.server.gateway]


@pytest.fixture(scope="module")
def messages(folders: list[Folder]) -> list[Message]:
    """Every captured message, with where it stands and what kind it is."""
    return [
        (folder, exchange.name, *found)
        for folder in folders
        for exchange in folder.exchanges.values()
        for found in classified(exchange)
    ]


def wrong(learned: Shapes, message: Message) -> list[str]:
    folder, _, api, stream, kind, value = message
    return learned.violations(folder.server.layout, api, value, stream=stream, kind=kind)


def test_the_shipped_file_is_what_the_library_gives(folders: list[Folder]) -> None:
    """After a change of the library: python tools/derive_shapes.py"""
    assert lzma.decompress(packed(derive(folders))) == lzma.decompress(resource("shapes").read_bytes())


def test_every_captured_message_has_its_own_shape(messages: list[Message]) -> None:
    assert len(messages) > 6000
    assert [] == [found for message in messages for found in wrong(shapes(), message)]


def test_messages_that_were_left_out_are_mostly_known(folders: list[Folder], messages: list[Message]) -> None:
    """Learned from nine tenths, the rest is judged: rare features may be unknown, the usual ones must not be."""
    names = [(folder.name, name) for folder in folders for name in folder.exchanges]
    left_out = set(random.Random(1).sample(names, len(names) // 10))
    rest = [
        replace(
            folder,
            exchanges={name: one for name, one in folder.exchanges.items() if (folder.name, name) not in left_out},
        )
        for folder in folders
    ]
    learned = Shapes(derive(rest))

    judged = [wrong(learned, message) for message in messages if (message[0].name, message[1]) in left_out]

    assert len(judged) > 300
    assert sum(map(bool, judged)) / len(judged) < 0.03


def places(value: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Every member of every object below a value, but those whose names or content are the caller's."""
    if isinstance(value, dict):
        for key, member in value.items():
            if key not in OPAQUE | MAPS:
                yield value, key
                yield from places(member)
    if isinstance(value, list):
        for element in value:
            yield from places(element)


def rename(holder: dict[str, Any], key: str) -> None:
    holder[f"{key}_x"] = holder.pop(key)


def retype(holder: dict[str, Any], key: str) -> None:
    holder[key] = {"surprise": 1} if not isinstance(holder[key], dict) else "surprise"


def nest(holder: dict[str, Any], key: str) -> None:
    holder[key] = [holder[key]]


@pytest.mark.parametrize("damage", [rename, retype, nest])
def test_damage_to_any_member_of_a_chat_answer_is_seen(
    messages: list[Message], damage: Callable[[dict[str, Any], str], None]
) -> None:
    chats = [message for message in messages if message[0].name == "vllm-0.32.0-plain" and message[2] == "chat"]
    chosen = random.Random(2).sample([one for one in chats if one[4] in ("body", "delta", "finish")], 40)

    for folder, name, api, stream, kind, value in chosen:
        for at in range(len(list(places(value)))):
            damaged = copy.deepcopy(value)
            holder, key = list(places(damaged))[at]
            damage(holder, key)
            found = violations(folder.server.layout, api, damaged, stream=stream, kind=kind)
            assert found, f"{name}: {damage.__name__} of {key} went unseen"
