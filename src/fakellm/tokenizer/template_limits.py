"""Limits of chat templates: how much work one rendering may be, and how large a value it may make.

A template is a foreign program, and a request may bring its own. jinja2's sandbox keeps it from reaching anything; it
does not keep it from looping for hours or from doubling a text forty times. Here each turn of a loop and each value
that a template makes costs units of work, counted (not timed, so that equal input has equal output), and what would be
too large is refused before it is made. Knows jinja2's syntax tree, no tokenizer.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, NoReturn, cast

import jinja2.sandbox
from jinja2 import nodes
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from ..errors import TokenizerError

MAX_SOURCE = 262_144
"""Characters of a template; the longest known ones have some 20,000."""
MAX_WORK = 1_000_000
"""Units of one rendering: a second or two of looping. A chat of a thousand messages takes some thousands."""
MAX_VALUE = 32 * 1024 * 1024
"""Characters or members of one value, and characters of the rendered text: as long as a request may be."""
MAX_NUMBER = 1_000_000
"""A width, a count or a precision that a template names."""
MAX_BITS = 4_096
"""Of a number that a template computes."""
CHARACTERS_A_UNIT = 32
CALL_UNITS = 4
"""A macro that is called costs as much as four turns of a loop."""

OURS = "fakellm "
"""Begins the names of our filters: with a blank, which no template can write."""

_left: ContextVar[list[int] | None] = ContextVar("work left of the rendering that is going on", default=None)
_WIDE: Final = re.compile(r"%[^%a-zA-Z]*(?:\d{6}|\*)|\{[^{}]*:[^{}]*(?:\d{6}|\{)")
"""A width or precision in a format that is a number of six digits, or that stands elsewhere."""


@contextmanager
def limited() -> Generator[None]:
    """One rendering: all work from here on counts."""
    token = _left.set([MAX_WORK])
    try:
        yield
    finally:
        _left.reset(token)


def tick(units: int = 1) -> str:
    """Work that was done; raises TokenizerError beyond the limit. Gives the empty text: it may stand anywhere."""
    left = _left.get()
    if left is not None:
        left[0] -= max(units, 1)  # a template may reach it by the filter map, with any number
        if left[0] < 0:
            _refuse(f"the chat template is more than {MAX_WORK} steps of work")
    return ""


def charged(value: Any) -> Any:
    """A value that a template made, counted by its size."""
    if isinstance(value, str):
        tick(1 + len(value) // CHARACTERS_A_UNIT)
        _check_size(len(value))
    elif isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            _refuse("the chat template computes a number without end")
    elif isinstance(value, Sized):
        tick(1 + len(value))
        _check_size(len(value))
    return value


def built(value: Any) -> Any:
    """A list, tuple or dict that a template writes out, counted with all that is in it, as often as it is in it: text
    is made of every copy, and copies of copies of copies are soon more than any machine holds."""
    stack: list[Any] = [value]
    while stack:
        tick()
        each: Any = stack.pop()
        if isinstance(each, str):
            tick(len(each) // CHARACTERS_A_UNIT)
        elif isinstance(each, Mapping):
            stack += [*cast("Mapping[Any, Any]", each).keys(), *cast("Mapping[Any, Any]", each).values()]
        elif isinstance(each, list | tuple):
            stack += cast("list[Any]", each)
        elif isinstance(each, Namespace):
            stack.append(getattr(each, "_Namespace__attrs"))  # noqa: B009  it gives itself away by this name only
    return value


def joined(*values: Any) -> str:
    """What ``~`` makes of its sides."""
    return charged("".join(str(charged(value)) for value in values))


class LimitedSandbox(jinja2.sandbox.ImmutableSandboxedEnvironment):
    """The sandbox with limits. Rendering without ``limited()`` has no limit of work, but those of single values."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, *, to_json: Callable[..., str], **options: Any) -> None:
        super().__init__(optimized=False, finalize=charged, **options)
        self.globals.pop("lipsum", None)
        self.filters["tojson"] = to_json
        self.filters.update({name: _guarded(name, made) for name, made in self.filters.items()})
        self.filters.update({OURS + made.__name__: made for made in (tick, built, joined)})

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        if len(source) > MAX_SOURCE:
            _refuse(f"the chat template has {len(source)} characters, more than {MAX_SOURCE}")
        tree = super()._parse(source, name, filename)
        return cast("nodes.Template", _Counting().visit(tree))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "*":
            _check_product(left, right)
        elif operator == "**":
            bits = left.bit_length() * right if isinstance(left, int) and isinstance(right, int) else 0
            if bits > MAX_BITS:
                _refuse("the chat template computes a number without end")
        elif operator == "%" and isinstance(left, str):
            _check_format(left)
        return charged(super().call_binop(context, operator, left, right))

    def call(self, context: Any, obj: Any, *args: Any, **kwargs: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        method = getattr(obj, "__wrapped__", obj)  # jinja2 wraps str.format
        owner = getattr(method, "__self__", None)
        if isinstance(owner, str):
            _check_call(method.__name__, (owner, *args), kwargs)
        made = super().call(context, obj, *args, **kwargs)
        if obj is dict or isinstance(made, Namespace):
            return built(made)
        return charged(made)


class _Counting(NodeTransformer):
    """Puts a tick into every loop and macro, with the text that stands in it, and counts what ``~`` makes."""

    def visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:
        self.generic_visit(node)
        if isinstance(node, nodes.For | nodes.Macro | nodes.CallBlock):
            text = sum(len(each.data) for each in node.find_all(nodes.TemplateData))
            turn = 1 if isinstance(node, nodes.For) else CALL_UNITS
            call = _call("tick", node, nodes.Const(turn + text // CHARACTERS_A_UNIT))
            node.body.insert(0, nodes.ExprStmt(call, lineno=node.lineno))
        elif isinstance(node, nodes.Concat):
            return _call("joined", node, *node.nodes)
        elif isinstance(node, nodes.List | nodes.Dict) or (isinstance(node, nodes.Tuple) and node.ctx == "load"):
            return _call("built", node, node)
        return node


def _call(name: str, place: nodes.Node, first: nodes.Expr, *more: nodes.Expr) -> nodes.Filter:
    """The call of a function of this module, as a filter: jinja2 calls those without the sandbox's detour."""
    return nodes.Filter(first, OURS + name, list(more), [], None, None, lineno=place.lineno)


def _guarded(name: str, made: Callable[..., Any]) -> Callable[..., Any]:
    """A filter whose arguments are checked and whose value is counted. Some are handed the context first."""

    @functools.wraps(made)
    def run(*args: Any, **kwargs: Any) -> Any:
        given = args[1:] if hasattr(made, "jinja_pass_arg") else args
        for value in given[:1]:
            charged(value)
        _check_call(name, given, kwargs)
        return charged(made(*args, **kwargs))

    return run


def _check_call(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """A method of a text, or a filter: nothing that makes a value out of all proportion."""
    for value in (*args[1:], *kwargs.values()):
        if isinstance(value, int) and abs(value) > MAX_NUMBER and name in _SIZED:
            _refuse(f"the chat template asks {name} for {value}")
    if name in ("format", "format_map") and args and isinstance(args[0], str):
        _check_format(args[0])
    elif name == "replace" and len(args) > 2:
        text, old, new = (str(value) for value in args[:3])
        _check_size(len(text) + (text.count(old) if old else len(text) + 1) * len(new))
    elif name == "join":
        sides = [cast("Iterable[Any]", side) for side in args if isinstance(side, Sized)]
        _check_size(math.prod(len(cast("Sized", side)) for side in sides) if len(sides) > 1 else 0)
        tick(sum(_length(side) for side in sides) // CHARACTERS_A_UNIT)


_SIZED: Final = frozenset(
    {"center", "ljust", "rjust", "zfill", "expandtabs", "indent", "wordwrap", "batch", "slice", "round", "tojson"}
)


def _length(parts: Iterable[Any]) -> int:
    total = sum(len(part) for part in parts if isinstance(part, str))
    _check_size(total)
    return total


def _check_product(left: Any, right: Any) -> None:
    for many, times in ((left, right), (right, left)):
        if isinstance(times, int) and isinstance(many, Sized):
            _check_size(len(many) * max(times, 0))


def _check_format(text: str) -> None:
    if _WIDE.search(text):
        _refuse("the chat template formats a value wider than any text")


def _check_size(size: int) -> None:
    if size > MAX_VALUE:
        _refuse(f"the chat template makes a value of {size} characters or members, more than {MAX_VALUE}")


def _refuse(words: str) -> NoReturn:
    raise TokenizerError(words, where="chat template")
