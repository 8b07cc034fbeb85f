"""What a request may ask of an answer's tokens: native /generate with every flag, and the scores of the OpenAI routes.

Ends, stops, lengths, steps of every size, pieces of characters, batches, samples, scores of prompts and of ids by
number; whole and streamed.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from .book import Book

TEXTS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("plain", ("Hello world foo bar",)),
    ("pieces", ("é🙂日 x𠮷",)),
    ("special", ("Hello", 1, " there", 2, " more")),
    ("spaces", ("  two  spaces \n\n end",)),
    ("broken", ("a", 172, 163, "b")),
    ("empty", ()),
    ("end", (2,)),
    ("other-end", ("Hi", 0, " x")),
)
LATE_ANSWERED = (0, 5, 10)
"""Before, scores that begin behind the prompt are never answered (the tokenizer manager's loop ends); a stream of them
tells one token and an abort, which is not imitated."""

STEPS = ((1,), (2, 3), (1, 4, 1), (8,))
ENDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("none", {}),
    ("short", {"max_new_tokens": 2}),
    ("one", {"max_new_tokens": 1}),
    ("zero", {"max_new_tokens": 0}),
    ("stop", {"stop": ["wor", "x"]}),
    ("stop-kept", {"stop": "world", "no_stop_trim": True}),
    ("stop-first", {"stop": ["H", "é"]}),
    ("stop-late", {"stop": ["bar", "end", "zzz"]}),
    ("stop-id", {"stop_token_ids": [163, 412, 347]}),
    ("stop-id-kept", {"stop_token_ids": [412], "no_stop_trim": True}),
    ("ignore", {"ignore_eos": True, "max_new_tokens": 12}),
    ("least", {"min_new_tokens": 3, "max_new_tokens": 9}),
    ("shown", {"skip_special_tokens": False}),
    ("shown-kept", {"skip_special_tokens": False, "no_stop_trim": True}),
    ("apart", {"skip_special_tokens": False, "spaces_between_special_tokens": False}),
    ("regex", {"stop_regex": "w.r"}),
    ("regexes", {"stop_regex": ["zz+", "o+ "], "no_stop_trim": True}),
    ("interval", {"stream_interval": 3}),
)
FLAGS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("scores", {"return_logprob": True}),
    ("top", {"return_logprob": True, "top_logprobs_num": 3}),
    ("text", {"return_logprob": True, "top_logprobs_num": 2, "return_text_in_logprobs": True}),
    ("start", {"return_logprob": True, "logprob_start_len": 0}),
    ("start-top", {"return_logprob": True, "logprob_start_len": 1, "top_logprobs_num": 2}),
    ("asked", {"return_logprob": True, "token_ids_logprob": [5, 42, 2]}),
    ("asked-start", {"return_logprob": True, "token_ids_logprob": [5], "logprob_start_len": 0, "top_logprobs_num": 1}),
    ("everything", {
        "return_logprob": True, "token_ids_logprob": [7], "logprob_start_len": 0, "top_logprobs_num": 2,
        "return_text_in_logprobs": True, "return_prompt_token_ids": True,
    }),
    ("late", {"return_logprob": True, "logprob_start_len": 99}),
    ("last", {"return_logprob": True, "logprob_start_len": 3}),
    ("minus", {"return_logprob": True, "logprob_start_len": -2}),
    ("unasked", {"top_logprobs_num": 3, "logprob_start_len": 0, "token_ids_logprob": [5]}),
    ("prompt", {"return_prompt_token_ids": True}),
    ("flat", {"return_logprob": True, "top_logprobs_num": 2, "return_flat_raw_top_logprobs": True}),
    ("rid", {"rid": "mine"}),
    ("bytes", {"return_bytes": True}),
)  # fmt: skip


def fill(book: Book) -> None:
    """Everything a server without parsers answers."""
    for stream in (False, True):
        kind = "-stream" if stream else ""
        _ends(book, kind, stream=stream)
        _flags(book, kind, stream=stream)
        _batches(book, kind, stream=stream)
        _scored(book, kind, stream=stream)
        _failures(book, kind, stream=stream)


def _ends(book: Book, kind: str, *, stream: bool) -> None:
    for (text, said), (end, sampling) in product(TEXTS, ENDS):
        name = f"{text}-{end}{kind}"
        steps = book.chance(name).choice(STEPS)
        truth = book.speech.say(*said, steps=steps)
        book.native(f"end-{name}", truth, sampling=sampling, stream=stream, return_logprob=True)
        again = {("max_tokens" if key == "max_new_tokens" else key): value for key, value in sampling.items()}
        again["min_tokens"] = again.pop("min_new_tokens", 0)
        for gone in ("spaces_between_special_tokens", "stream_interval"):
            again.pop(gone, None)
        usage: dict[str, Any] = {"stream_options": {"include_usage": True}} if stream else {}
        book.chat(f"end-{name}", truth, stream=stream, logprobs=True, top_logprobs=1, **again, **usage)
        if again.get("max_tokens") != 0:
            book.complete(f"end-{name}", truth, stream=stream, logprobs=1, return_token_ids=True, **again, **usage)


def _flags(book: Book, kind: str, *, stream: bool) -> None:
    for flag, members in FLAGS:
        if flag == "late" and (stream or book.version < LATE_ANSWERED):
            continue
        for steps in ((1,), (3,)):
            name = f"{flag}-{steps[0]}{kind}"
            truth = book.speech.say("Hél🙂 x", steps=steps, ranks={1: 2, 2: 5})
            book.native(
                f"flag-{name}", truth, sampling={"max_new_tokens": 9}, stream=stream, text="Hi there", **members
            )
            ids: dict[str, Any] = {"input_ids": [42, 75, 201]}
            book.native(f"ids-{name}", truth, sampling={"max_new_tokens": 9}, stream=stream, **ids, **members)


DEADLY_BATCHES = frozenset({"twice", "minus-id"})
"""At which older servers break for good."""


def _batches(book: Book, kind: str, *, stream: bool) -> None:
    say = book.speech.say
    both = say("Hello"), say("Yo there", steps=(2,))
    short = {"max_new_tokens": 4}
    cases: tuple[tuple[str, dict[str, Any]], ...] = (
        ("texts", {"text": ["Hi", "Ho"]}),
        ("one", {"text": ["Hi"]}),
        ("ids", {"input_ids": [[42], [75, 201]]}),
        ("rid", {"text": ["Hi", "Ho"], "rid": "mine"}),
        ("rids", {"text": ["Hi", "Ho"], "rid": ["a", "b"]}),
        ("few-rids", {"text": ["Hi", "Ho"], "rid": ["a"]}),
        ("twice", {"text": ["Hi", "Ho"], "rid": ["a", "a"]}),
        ("scores", {"text": ["Hi", "Ho"], "return_logprob": [True, False], "top_logprobs_num": [2, 0]}),
        ("starts", {"text": ["Hi", "Ho"], "return_logprob": True, "logprob_start_len": [0, -1]}),
        ("asked", {"text": ["Hi", "Ho"], "return_logprob": True, "token_ids_logprob": [[5], [6, 7]]}),
        ("asked-flat", {"text": ["Hi", "Ho"], "return_logprob": True, "token_ids_logprob": [5, 6]}),
        ("prompts", {"text": ["Hi", "Ho"], "return_prompt_token_ids": True}),
        ("both", {"text": "Hi", "input_ids": [42]}),
        ("neither", {"text": None}),
        ("no-ids", {"input_ids": []}),
        ("empty-ids", {"input_ids": [[], [42]]}),
        ("blank", {"text": ["", "Hi"]}),
        ("far-id", {"input_ids": [42, 99999]}),
        ("minus-id", {"input_ids": [42, -1]}),
    )
    for name, members in cases:
        if book.single and name in DEADLY_BATCHES:
            continue
        book.native(
            f"batch-{name}{kind}", *both, sampling=short, stream=stream, return_text_in_logprobs=True, **members
        )
    parameters: tuple[tuple[str, Any], ...] = (
        ("each", [{"max_new_tokens": 1}, {"max_new_tokens": 3}]),
        ("few", [{"max_new_tokens": 1}]),
        ("n-each", [{"n": 2}, {"n": 1}]),
        ("empty", []),
    )
    for name, sampling in parameters:
        book.native(f"batch-sampling-{name}{kind}", *both, sampling=sampling, stream=stream, text=["Hi", "Ho"])
    samples = book.speech.choices(say("Hello"), say("Other words", steps=(3,)), say("x"))
    for name, members in (
        ("one", {"text": "Hi"}),
        ("two", {"text": ["Hi", "Ho"]}),
        ("rid", {"text": "Hi", "rid": "r"}),
    ):
        for count in (2, 3):
            sampling = {"n": count, "max_new_tokens": 5}
            book.native(f"n{count}-{name}{kind}", samples, samples, sampling=sampling, stream=stream, **members)
            book.native(
                f"n{count}-scores-{name}{kind}", samples, samples, sampling=sampling, stream=stream,
                return_logprob=True, top_logprobs_num=1, **members,
            )  # fmt: skip
    for count in (1, 2, 3):
        ids: dict[str, Any] = {} if stream else {"return_token_ids": True}
        book.chat(f"n{count}{kind}", samples, n=count, stream=stream, logprobs=True, **ids)
        book.chat(f"n{count}-usage{kind}", samples, n=count, stream=stream, stream_options={"include_usage": True})
        book.complete(f"n{count}{kind}", samples, n=count, stream=stream, logprobs=2, return_token_ids=True)
        book.complete(f"n{count}-batch{kind}", samples, samples, prompt=["Hi", "Ho"], n=count, stream=stream, echo=True)


def _scored(book: Book, kind: str, *, stream: bool) -> None:
    say = book.speech.say
    for top, steps in product((None, 0, 1, 2, 5), ((1,), (3,))):
        name = f"{'none' if top is None else top}-{steps[0]}{kind}"
        truth = say("Hél🙂 x y", steps=steps, ranks={1: 3, 4: 2})
        asked: dict[str, Any] = {"logprobs": True} if top is None else {"logprobs": True, "top_logprobs": top}
        book.chat(f"top-{name}", truth, stream=stream, **asked)
        framed = {"return_input_ids_in_sglext": True, "return_output_ids_in_sglext": True}
        book.chat(f"top-ext-{name}", truth, stream=stream, stream_options={"include_usage": True}, **asked, **framed)
        book.complete(f"top-{name}", truth, stream=stream, logprobs=top)
        book.complete(f"top-echo-{name}", truth, stream=stream, logprobs=top, echo=True, return_token_ids=True)
        book.complete(f"top-ids-{name}", truth, stream=stream, logprobs=top, echo=True, prompt=[42, 75, 201])
    wholes: tuple[dict[str, Any], ...] = (
        {"return_token_ids": True},
        {"return_prompt_token_ids": True},
        {"return_meta_info": True, "logprobs": True, "top_logprobs": 2},
        {"return_meta_info": True, "return_token_ids": True, "n": 2},
        {"return_meta_info": True},
        {"return_cached_tokens_details": True},
        {"return_routed_experts": True},
        {"return_sampling_mask": True},
        {"return_flat_raw_output_top_logprobs": True},
        {"rid": "mine"},
        {"rid": ["a", "b"], "n": 2},
        {"return_output_ids_in_sglext": True, "n": 2},
        {"input_ids": [42, 75]},
        {"input_ids": []},
        {"continue_final_message": True},
        {"ignore_eos": True, "max_tokens": 8},
        {"max_completion_tokens": 2, "max_tokens": 5},
        {"max_completion_tokens": 0, "max_tokens": 3},
        {"seed": 7, "temperature": 0},
        {"logit_bias": {"42": 5}},
        {"logit_bias": {"x": 5}},
        {"stream_options": {"include_usage": True, "continuous_usage_stats": True}},
        {"stream_options": {"continuous_usage_stats": True}},
    )
    for number, members in enumerate(wholes):
        book.chat(f"asks-{number}{kind}", say("Hello wörld", steps=(2,)), stream=stream, **members)
        book.complete(f"asks-{number}{kind}", say("Hello wörld", steps=(2,)), stream=stream, **members)
    headers = ({"x-sglext-return-input-ids": "1"}, {"x-sglext-return-output-ids": "1", "x-sglext-ids-framed": "1"})
    for number, given in enumerate((*headers, {**headers[0], **headers[1]}, {"x-sglext-return-output-ids": "true"})):
        body: dict[str, Any] = {"model": book.model, "messages": [{"role": "user", "content": "Hi"}], "stream": stream}
        usage = {"stream_options": {"include_usage": True}}
        book.ask(f"chat-head-{number}{kind}", "/v1/chat/completions", {**body, **usage}, say("Hi 🙂"), headers=given)
        book.ask(f"comp-head-{number}{kind}", "/v1/completions", {
            "model": book.model, "prompt": "Hi", "stream": stream, **usage}, say("Hi 🙂"), headers=given)  # fmt: skip
    prompts: tuple[Any, ...] = ("Hi there", ["Hi", "Ho"], [42, 75], [[42], [75, 201]], [], "", [""], [[]], [42, "x"])
    for number, prompt in enumerate(prompts):
        truths = say("Hello"), say("Yo")
        book.complete(f"prompt-{number}{kind}", *truths, prompt=prompt, stream=stream, return_token_ids=True)
        book.complete(f"prompt-echo-{number}{kind}", *truths, prompt=prompt, stream=stream, echo=True, logprobs=1)
    long = "word " * 300
    for number, members in enumerate(({"max_tokens": 9}, {"max_tokens": 400}, {}, {"max_tokens": 100000})):
        for name, text in (("long", long * 2), ("half", long[:1200]), ("short", "Hi")):
            chatted = [{"role": "user", "content": text}]
            book.chat(f"room-{name}-{number}{kind}", say("a b c"), messages=chatted, stream=stream, **members)
            book.complete(f"room-{name}-{number}{kind}", say("a b c"), prompt=text, stream=stream, **members)
            sampling = {"max_new_tokens": members["max_tokens"]} if members else {}
            book.native(f"room-{name}-{number}{kind}", say("a b c"), text=text, sampling=sampling, stream=stream)
    book.native(f"full{kind}", say("Hello " * 300), text=long[:1500], sampling={"max_new_tokens": None}, stream=stream)


def _failures(book: Book, kind: str, *, stream: bool) -> None:
    for code, place in product((500, 400, 503), (0, 2)):
        truth = book.speech.say("Hello world foo", finish="error", finish_at=place)
        truth["choices"][0]["error"] = {"message": "boom", "code": code}
        name = f"fail-{code}-{place}{kind}"
        book.native(name, truth, stream=stream, return_logprob=True)
        book.native(f"batch-{name}", truth, book.speech.say("Hi"), text=["Hi", "Ho"], stream=stream)
        book.chat(name, truth, stream=stream, logprobs=True, stream_options={"include_usage": True})
        if place == 0 or not stream:  # the first failure ends a stream: the other sample gets as far as it gets
            book.chat(f"n2-{name}", truth, stream=stream, n=2)
        book.complete(name, truth, stream=stream, logprobs=1, stream_options={"include_usage": True})
