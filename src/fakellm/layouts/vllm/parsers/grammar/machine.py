"""The states of the qwen3 format, and what every mark means in each: text and ids in, events out.

    REASONING --</think>--> CONTENT --<tool_call>--> PREAMBLE --<function=--> NAME -->--> ARGUMENTS
    ARGUMENTS --</function>--> BETWEEN --</tool_call>--> CONTENT

A reasoning parser runs it with ``skips_tools`` (tool marks are content, but end the reasoning); a tool parser starts it
in CONTENT. Knows no JSON and no deltas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from .....tokenizer import Tokenizer
from .lex import DROP, Lexeme, Lexer
from .scan import Found, Item, Scanner


class State(Enum):
    CONTENT = auto()
    REASONING = auto()
    PREAMBLE = auto()
    NAME = auto()
    ARGUMENTS = auto()
    BETWEEN = auto()


class Kind(Enum):
    TEXT = auto()
    REASONING = auto()
    REASONING_END = auto()
    CALL = auto()
    NAME = auto()
    ARGUMENTS = auto()
    CALL_END = auto()


@dataclass(frozen=True, slots=True)
class Event:
    """``call``: the index of the tool call it is about (-1 = none yet); ``tokens``: how many tokens began in it."""

    kind: Kind
    text: str = ""
    call: int = -1
    tokens: int = 0


MARKS = {
    "THINK": "<think>",
    "THINK_END": "</think>",
    "TOOL": "<tool_call>",
    "TOOL_END": "</tool_call>",
    "FUNCTION": "<function=",
    "FUNCTION_END": "</function>",
    "PARAMETER": "<parameter=",
    "PARAMETER_END": "</parameter>",
    "CLOSE": ">",
}
BY_ID = ("THINK", "THINK_END", "TOOL", "TOOL_END")
"""Marks that are tokens of their own: where ids are given, only the id counts, their text is content."""
FILLERS = (b"<eos>", b"<bos>", b"<pad>", b"<unk>", b"<mask>")

Change = tuple[State, tuple[Kind, ...]]
CHANGES: dict[tuple[State, str], Change] = {
    (State.REASONING, "THINK"): (State.REASONING, ()),
    (State.REASONING, "THINK_END"): (State.CONTENT, (Kind.REASONING_END,)),
    (State.CONTENT, "THINK_END"): (State.CONTENT, ()),
    (State.REASONING, "TOOL"): (State.PREAMBLE, (Kind.REASONING_END, Kind.CALL)),
    (State.CONTENT, "TOOL"): (State.PREAMBLE, (Kind.REASONING_END, Kind.CALL)),
    (State.CONTENT, "FUNCTION"): (State.NAME, (Kind.CALL,)),
    (State.PREAMBLE, "TOOL_END"): (State.CONTENT, (Kind.CALL_END,)),
    (State.PREAMBLE, "FUNCTION"): (State.NAME, ()),
    (State.NAME, "CLOSE"): (State.ARGUMENTS, ()),
    (State.NAME, "FUNCTION_END"): (State.BETWEEN, (Kind.CALL_END,)),
    (State.ARGUMENTS, "FUNCTION_END"): (State.BETWEEN, (Kind.CALL_END,)),
    (State.ARGUMENTS, "PARAMETER"): (State.ARGUMENTS, (Kind.ARGUMENTS,)),
    (State.ARGUMENTS, "PARAMETER_END"): (State.ARGUMENTS, (Kind.ARGUMENTS,)),
    (State.BETWEEN, "TOOL_END"): (State.CONTENT, ()),
    (State.BETWEEN, "TOOL"): (State.PREAMBLE, (Kind.CALL,)),
    (State.BETWEEN, "FUNCTION"): (State.NAME, (Kind.CALL,)),
}
TOOL_STATES = frozenset({State.PREAMBLE, State.NAME, State.ARGUMENTS, State.BETWEEN})
TOOL_MARKS = frozenset(
    mark for (state, mark), (after, _) in CHANGES.items() if state in TOOL_STATES or after in TOOL_STATES
)
SHOWN = {
    State.CONTENT: Kind.TEXT,
    State.REASONING: Kind.REASONING,
    State.NAME: Kind.NAME,
    State.ARGUMENTS: Kind.ARGUMENTS,
}


class Machine:
    """One pass over one answer. ``thinks``: the answer begins as reasoning (unless started elsewhere). ``keeps_think``:
    reasoning marks are plain content (a tool parser without a reasoning parser, from 0.32). ``drops_specials``: other
    special tokens are dropped (from 0.28); else only the ids of ends and fillers are."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        start: State,
        *,
        skips_tools: bool = False,
        keeps_think: bool = False,
        drops_specials: bool = True,
    ) -> None:
        known = {text.encode() for text in MARKS.values()}
        ids = {tokenizer.id_of(MARKS[mark].encode()): mark for mark in BY_ID}
        dropped: set[int] = set()
        removed: set[int] = set()
        if drops_specials:
            dropped = {token_id for token_id in tokenizer.special_ids if tokenizer.piece(token_id) not in known}
        else:
            fillers = {tokenizer.id_of(filler) for filler in FILLERS}
            removed = {token_id for token_id in fillers if token_id is not None}.union(tokenizer.eos_ids)
        marks = {token_id: mark for token_id, mark in ids.items() if token_id is not None}
        marks.update(dict.fromkeys(dropped, DROP))
        texts = sorted(tokenizer.piece(token_id).decode("utf-8", "replace") for token_id in dropped)
        self._strict = frozenset(marks.values())
        self._scanner = Scanner(
            marks, lambda token_id: tokenizer.decode([token_id], skip_special_tokens=False), removed=removed
        )
        self._lexer = Lexer(MARKS, texts)
        self.skips_tools = skips_tools
        self._keeps_think = keeps_think
        self.state = start
        self.reasoning_tokens = 0
        self._call = -1
        self._had_ids = False

    def feed(self, text: str, ids: Sequence[int]) -> list[Event]:
        self._had_ids = self._had_ids or bool(ids)
        plain = bool(text) and not self._lexer.holds and not self._scanner.waits
        if plain and not self._lexer.may_begin(text) and not self._scanner.knows(ids):
            return self._counted(self._shown(text, len(ids)))
        return self._counted(self._items(self._scanner.scan(text, ids)))

    def finish(self) -> list[Event]:
        """The end of the answer: everything that waited comes, open calls and reasoning end."""
        events = self._items(self._scanner.flush())
        events += self._lexemes(self._lexer.flush())
        if self.state in TOOL_STATES and self._call >= 0:
            events.append(Event(Kind.CALL_END, call=self._call))
        elif self.state is State.REASONING:
            events.append(Event(Kind.REASONING_END, call=self._call))
        self.state = State.CONTENT
        return self._counted(events)

    def _counted(self, events: list[Event]) -> list[Event]:
        self.reasoning_tokens += sum(event.tokens for event in events if event.kind is Kind.REASONING)
        return events

    def _items(self, items: Sequence[Item]) -> list[Event]:
        events: list[Event] = []
        for item in items:
            if isinstance(item, Found):
                events += self._lexemes(self._lexer.flush())
                events += self._mark(item.mark, item.text, 0)
            elif item.text:
                events += self._lexemes(self._lexer.feed(item.text, item.texts, item.tokens))
            else:
                events += self._shown("", item.tokens)
        return events

    def _lexemes(self, lexemes: Sequence[Lexeme]) -> list[Event]:
        events: list[Event] = []
        for lexeme in lexemes:
            if lexeme.mark is None or (self._had_ids and lexeme.mark in self._strict):
                events += self._shown(lexeme.text, lexeme.tokens)
            else:
                events += self._mark(lexeme.mark, lexeme.text, lexeme.tokens)
        return events

    def _mark(self, mark: str, text: str, tokens: int) -> list[Event]:
        change = CHANGES.get((self.state, mark))
        if change is None:
            return [] if mark == DROP else self._shown(text, tokens)
        if self._keeps_think and mark in ("THINK", "THINK_END"):
            return self._shown(text, tokens)
        after, kinds = change
        if self.skips_tools and mark in TOOL_MARKS:
            if Kind.REASONING_END in kinds:
                self.state = State.CONTENT
                return [Event(Kind.REASONING_END, text, self._call), Event(Kind.TEXT, text, self._call)]
            shown = SHOWN.get(self.state)
            return [Event(shown, text, self._call)] if shown else []
        self.state = after
        events: list[Event] = []
        for kind in kinds:
            self._call += kind is Kind.CALL
            events.append(Event(kind, text, self._call, tokens))
        return events

    def _shown(self, text: str, tokens: int) -> list[Event]:
        kind = SHOWN.get(self.state)
        return [Event(kind, text, self._call, tokens)] if kind else []
