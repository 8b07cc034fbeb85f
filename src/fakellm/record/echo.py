"""Answers that begin with the prompt, brought back to what the engine made.

A client may ask for it (``echo``); SGLang up to 0.5.9 lists the prompt's scores in completions unasked, and Atropos'
stream is prompt and text in one. Pure.
"""

from __future__ import annotations

from dataclasses import replace

from ..ask import Ask
from ..capture import Alternative, CapturedChoice
from ..reading.assemble import Detail
from ..tokenizer import Tokenizer
from .tokens import spells

TEXT_WITH_PROMPT = frozenset({("atropos", True)})
"""APIs and modes whose text always begins with the prompt."""


def without_prompt(
    choice: CapturedChoice, detail: Detail, ask: Ask, tokenizer: Tokenizer
) -> tuple[CapturedChoice, Detail]:
    """A choice whose scores and text begin with the prompt, without it, and its steps without the prompt's tokens."""
    prompt = ask.prompts[0] if len(ask.prompts) == 1 else None
    if prompt is None:
        return choice, detail
    if (ask.api, ask.stream) in TEXT_WITH_PROMPT:
        before = tokenizer.decode(prompt.token_ids) if prompt.text is None else prompt.text
        return replace(choice, text=(choice.text or "").removeprefix(before)), _unread(detail, before)
    if not ask.wants.echo:
        listed = _listed(choice, prompt.token_ids, tokenizer)
        return _without(choice, listed), _stepping(detail, listed)
    scores, ids = choice.logprobs or (), choice.completion_token_ids
    over = len(scores) - len(ids) if ids is not None else len(prompt.token_ids)
    over = max(min(over, len(scores)), 0)
    text = choice.text
    if text is not None and prompt.text is not None:
        text = text.removeprefix(prompt.text)
        detail = _unread(detail, prompt.text)
    echoed = _stepping(detail, over)
    if choice.prompt_logprobs is None and over:
        tops = (choice.top_logprobs or ())[:over]
        alone = tuple((Alternative(one, None, score),) if score is not None else None
                      for one, score in zip(prompt.token_ids, scores[:over], strict=False))  # fmt: skip
        choice = replace(choice, prompt_logprobs=tops if any(tops) else alone)
        echoed = replace(echoed, prompt_scores=tuple(scores[:over]))
    return replace(_without(choice, over), text=text), echoed


def _unread(detail: Detail, before: str) -> Detail:
    texts = (detail.texts[0].removeprefix(before), *detail.texts[1:]) if detail.texts else ()
    return replace(detail, texts=texts)


def _stepping(detail: Detail, over: int) -> Detail:
    """The same steps without so many tokens at the beginning, where the first of them brought these."""
    first = detail.steps[0] if detail.steps else 0
    if not over or first < over:
        return detail
    rest = (first - over,) if first > over else ()
    return replace(detail, steps=(*rest, *detail.steps[1:]))


def _listed(choice: CapturedChoice, prompt: tuple[int, ...], tokenizer: Tokenizer) -> int:
    """How many scores are the prompt's, where nobody asked for them: the first has none, and all have its texts."""
    texts = (choice.token_texts or ())[: len(prompt)]
    if not prompt or len(texts) < len(prompt) or (choice.logprobs or (0.0,))[0] is not None:
        return 0
    return len(prompt) if all(spells(tokenizer, *pair) for pair in zip(texts, prompt, strict=True)) else 0


def _without(choice: CapturedChoice, over: int) -> CapturedChoice:
    if not over:
        return choice
    return replace(
        choice,
        logprobs=(choice.logprobs or ())[over:] or None,
        top_logprobs=(choice.top_logprobs or ())[over:] or None,
        token_texts=(choice.token_texts or ())[over:] or None,
    )
