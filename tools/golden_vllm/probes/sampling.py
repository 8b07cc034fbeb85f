"""Where answers end and which text a step shows: stops with hold-back, split characters, steps of several tokens."""

from __future__ import annotations

from typing import Any

from .book import Book

SCORES: dict[str, Any] = {"logprobs": True, "top_logprobs": 2, "return_token_ids": True}
TEXTS = (
    "Hello world foo",
    "é🙂日本語 naïve",
    "a, b; c. d! e? (f) [g] {h}",
    "one\ntwo\n\nthree   four",
    "𠮷野家 🧑‍🚀 done",
    "The end. The end. The",
)
STOPS: tuple[Any, ...] = (
    "o",
    " ",
    "wor",
    ["world f", "foo"],
    ["zzz", "d f"],
    "\n\n",
    ["🙂", "語"],
    ["end. T", "end. The end"],
    ["l", "ll", "lo"],
    "b; c. d! e? (f) [g]",
)


def fill(book: Book) -> None:
    _stops(book)
    _characters(book)
    _limits(book)
    _choices(book)
    _scores(book)
    _ends(book)


def _stops(book: Book) -> None:
    for place, stop in enumerate(STOPS):
        for number, text in enumerate(TEXTS):
            name = f"stop-{place}-{number}"
            chance = book.chance(name)
            said = book.speech.at_random(chance, text)
            members: dict[str, Any] = {"stop": stop, "stream": chance.random() < 0.6, **SCORES}
            if chance.random() < 0.3:
                members["include_stop_str_in_output"] = True
            if chance.random() < 0.2:
                members["min_tokens"] = chance.randrange(1, 8)
            if chance.random() < 0.2:
                members["skip_special_tokens"] = False
            if chance.random() < 0.2:
                members["max_tokens"] = chance.randrange(1, 9)
            if chance.random() < 0.3:
                members["stream_options"] = {"include_usage": True, "continuous_usage_stats": chance.random() < 0.5}
            if not members["stream"]:
                members.pop("stream_options", None)
            if chance.random() < 0.5:
                book.chat(name, said, **members)
            else:
                top = members.pop("top_logprobs")
                book.complete(name, said, **{**members, "logprobs": top})


def _characters(book: Book) -> None:
    for number, text in enumerate(
        ("é🙂日本語", "🧑‍🚀𠮷", "a\u0301e\u0301", "\ufffd?", "\u2028\u2029\x00\x7f", "<|im_end|> <|x|>")
    ):
        for cut in (1, 2, 3, 5, None):
            limit = {} if cut is None else {"max_tokens": cut}
            book.chat(f"cut-{number}-{cut}", book.speech.say(text), stream=True, **limit, **SCORES)
            book.chat(f"cut-{number}-{cut}-whole", book.speech.say(text), **limit, **SCORES)
            book.complete(f"cut-{number}-{cut}", book.speech.say(text, steps=(2,)), stream=True, logprobs=1, **limit)
            book.complete(f"cut-{number}-{cut}-whole", book.speech.say(text), logprobs=1, **limit)
    broken = [book.speech.ids("🙂")[0], *book.speech.ids("日")[:1], *book.speech.ids("x")]
    book.chat("broken-characters", book.speech.say(broken), stream=True, **SCORES)
    book.chat("broken-characters-whole", book.speech.say(broken), **SCORES)
    book.complete("broken-characters", book.speech.say(broken), logprobs=2, stream=True)
    book.complete("broken-characters-whole", book.speech.say(broken), logprobs=2, return_tokens_as_token_ids=True)
    book.chat("as-ids", book.speech.say("é x"), return_tokens_as_token_ids=True, stream=True, **SCORES)
    book.complete("as-ids", book.speech.say("é x"), return_tokens_as_token_ids=True, stream=True, logprobs=1, echo=True)


def _limits(book: Book) -> None:
    say = book.speech.say
    book.chat("min-tokens-past-eos", say([42, 2, 533, 2, 363]), min_tokens=3, **SCORES)
    book.chat("min-tokens-past-eos-stream", say([42, 2, 533, 2, 363]), min_tokens=3, stream=True, **SCORES)
    book.chat("ignore-eos", say([42, 2, 533, 0, 363], eos=False), ignore_eos=True, max_tokens=5, **SCORES)
    book.chat("ignore-eos-specials", say([42, 2, 533]), ignore_eos=True, max_tokens=4, skip_special_tokens=False)
    book.chat("stop-ids", say("Hello world"), stop_token_ids=[296, 363], **SCORES)
    book.chat("stop-ids-kept", say("Hello world"), stop_token_ids=[363], include_stop_str_in_output=True, **SCORES)
    book.chat("stop-ids-stream", say("Hello world"), stop_token_ids=[363], stream=True, **SCORES)
    book.chat("both-limits", say("Hello world foo"), max_tokens=2, max_completion_tokens=4)
    book.chat("one-token", say("Hello"), max_tokens=1, stream=True, stream_options={"include_usage": True}, **SCORES)
    book.chat("second-eos", say("He", 0), **SCORES)
    book.chat("second-eos-stream", say("He", 0), stream=True, **SCORES)
    book.complete("default-limit", say("one two three four five six seven eight nine ten eleven twelve"), logprobs=0)
    book.complete("no-tokens", say("Hello"), max_tokens=0)
    book.complete("no-tokens-echo", say("Hello"), max_tokens=0, echo=True, logprobs=1, prompt="Hi user")
    book.complete("one-token-echo", say("Hello"), max_tokens=1, echo=True, logprobs=1, stream=True, prompt="Hi user")
    for interval in (2, 3, 5):
        said = say("Hello world foo bar", steps=(1, 2))
        book.chat(f"interval-{interval}", said, stream=True, stream_interval=interval, **SCORES)
        book.complete(f"interval-{interval}", said, stream=True, stream_interval=interval, logprobs=1)


def _choices(book: Book) -> None:
    speech = book.speech
    for count in (2, 3):
        texts = ("Hello", "Yes, of course", "é🙂 no")[:count]
        said = speech.choices(*(speech.say(text, steps=(1, 2)) for text in texts))
        for stream in (False, True):
            name = f"n{count}{'-stream' if stream else ''}"
            usage = {"stream_options": {"include_usage": True}} if stream else {}
            book.chat(name, said, n=count, stream=stream, **usage, **SCORES)
            book.complete(name, said, n=count, stream=stream, logprobs=1, return_token_ids=True, **usage)
            book.complete(f"{name}-echo", said, n=count, stream=stream, logprobs=1, echo=True, prompt="Hi user")
            book.generate(name, said, sampling={"n": count, "logprobs": 1}, stream=stream)
            book.chat(f"{name}-stop", said, n=count, stream=stream, stop=["es", "l"], **SCORES)
    prompts = ["Hi", "Yo user", [42, 75]]
    said = tuple(speech.say(text) for text in ("Hello", "Good", "é"))
    for stream in (False, True):
        kind = "stream" if stream else "whole"
        book.complete(f"batch-{kind}", *said, prompt=prompts[:2], stream=stream, logprobs=1, return_token_ids=True)
        book.complete(
            f"batch-ids-{kind}", *said[:2], prompt=[[42, 75], [75, 42, 42]], stream=stream, return_token_ids=True
        )
        book.complete(f"batch-mixed-{kind}", *said, prompt=prompts, stream=stream)
        book.complete(f"batch-n2-{kind}", *said[:2], prompt=prompts[:2], n=2, stream=stream, echo=True, logprobs=0)


def _scores(book: Book) -> None:
    say = book.speech.say
    ranked = say("Hello world", ranks={0: 3, 1: 9, 2: 2}, low=(1,))
    for top in (0, 1, 3, 20):
        for stream in (False, True):
            kind = f"{top}{'-stream' if stream else ''}"
            book.chat(f"top-{kind}", ranked, logprobs=True, top_logprobs=top, stream=stream)
            book.complete(f"top-{kind}", ranked, logprobs=top, stream=stream)
            book.generate(f"top-{kind}", ranked, sampling={"logprobs": top}, stream=stream)
    for count in (0, 1, 3):
        book.chat(f"prompt-logprobs-{count}", say("Hel"), prompt_logprobs=count, return_token_ids=True)
        book.complete(f"prompt-logprobs-{count}", say("Hel"), prompt_logprobs=count, prompt="Hi é user")
        book.complete(f"echo-prompt-logprobs-{count}", say("Hel"), prompt_logprobs=count, prompt="Hi é user", echo=True)
        book.generate(f"prompt-logprobs-{count}", say("Hel"), sampling={"prompt_logprobs": count})
        book.complete(f"echo-{count}", say("Hel"), logprobs=count, prompt="Hi é user", echo=True, return_token_ids=True)
        book.complete(f"echo-{count}-stream", say("Hel"), logprobs=count, prompt="Hi é user", echo=True, stream=True)
    book.complete("echo-fewer", say("Hel"), prompt_logprobs=3, logprobs=1, prompt="Hi é user", echo=True)
    book.complete("echo-more", say("Hel"), prompt_logprobs=1, logprobs=3, prompt="Hi é user", echo=True, stream=True)
    book.complete("echo-plain", say("Hel"), echo=True)
    book.complete("echo-plain-stream", say("Hel"), echo=True, stream=True, stream_options={"include_usage": True})
    book.complete("echo-ids", say("Hel"), echo=True, prompt=[42, 75, 201], return_token_ids=True)
    book.complete("echo-ids-scores", say("Hel"), echo=True, prompt=[42, 75, 201], logprobs=2, stream=True)
    for ids in ([300], [42, 301, 77], [5, 5]):
        count = len(ids)
        name = "-".join(str(one) for one in ids)
        book.chat(f"asked-ids-{name}", say("Hel"), logprobs=True, logprob_token_ids=ids, return_token_ids=True)
        book.chat(f"asked-ids-top-{name}", say("Hel"), logprobs=True, top_logprobs=count, logprob_token_ids=ids)
        book.chat(f"asked-ids-stream-{name}", say("Hel"), logprobs=True, logprob_token_ids=ids, stream=True)
        book.chat(f"asked-ids-alone-{name}", say("Hel"), logprob_token_ids=ids)
        book.complete(f"asked-ids-{name}", say("Hel"), logprobs=count, logprob_token_ids=ids)
        book.complete(f"asked-ids-alone-{name}", say("Hel"), logprob_token_ids=ids, stream=True)
        book.generate(f"asked-ids-{name}", say("Hel"), sampling={"logprob_token_ids": ids})
    book.chat("asked-ids-mismatch", say("Hel"), logprobs=True, top_logprobs=3, logprob_token_ids=[1, 2])
    book.chat("offsets", say("Hél x"), return_token_offsets=True, return_token_ids=True)
    book.complete("offsets", say("Hél x"), return_token_offsets=True, return_token_ids=True)
    book.chat("prompt-text", say("Hel"), return_prompt_text=True, stream=True, n=2)


def _ends(book: Book) -> None:
    say = book.speech.say
    for stream in (False, True):
        kind = "stream" if stream else "whole"
        for finish in ("error", "abort"):
            for at in (1, 3):
                said = say("Hello world foo", finish=finish, finish_at=at)
                name = f"{finish}-{at}-{kind}"
                book.chat(name, said, stream=stream, **SCORES)
                book.complete(name, said, stream=stream, logprobs=0)
                book.generate(name, said, stream=stream)
                book.respond(name, said, stream=stream)
                book.message(name, said, stream=stream)
        both = book.speech.choices(say("Hello"), say("Hello world", finish="error", finish_at=2))
        if not stream:  # how far the other choice came is a matter of the clock
            book.chat("error-in-one", both, n=2)
        book.chat(f"only-eos-{kind}", say(), stream=stream, **SCORES)
        book.complete(f"only-eos-{kind}", say(), stream=stream, logprobs=1, return_token_ids=True)
        book.respond(f"only-eos-{kind}", say(), stream=stream, include=["message.output_text.logprobs"])
        book.message(f"only-eos-{kind}", say(), stream=stream)
        book.chat(f"out-of-script-{kind}", say("Hel", eos=False), stream=stream, **SCORES)
        book.chat(f"empty-step-{kind}", say("Hello", steps=(1, 0, 2, 0, 1)), stream=stream, **SCORES)
        book.chat(f"routed-{kind}", say("Hel", routed=1, kv=1), stream=stream, return_token_ids=True)
        book.complete(f"routed-{kind}", say("Hel", routed=1, kv=1), stream=stream)
        book.generate(f"routed-{kind}", say("Hel", routed=1, kv=1), stream=stream)
