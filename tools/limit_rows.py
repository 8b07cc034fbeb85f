"""Limits of the fake and what happens beyond them: the rows of the manual's page, numbers read off the code.

Each row names the guards (``tests/support/guards``) whose probes fail when that limit is taken out; a test holds both
lists together, so that no limit is told that nothing keeps and none is kept untold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fakellm import journal, pattern, stage
from fakellm.problem import DEEP
from fakellm.scenario import load, source
from fakellm.server import app, direct, heads, listen, pace, run
from fakellm.server.trouble import MOST_HANDLES
from fakellm.state import in_redis
from fakellm.tokenizer import template_limits

MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Row:
    """``number``: with its unit, "" = none; ``beyond``: what happens there; ``guards``: what the tests take out."""

    what: str
    number: str
    beyond: str
    guards: tuple[str, ...]


def sections() -> Iterator[tuple[str, tuple[Row, ...]]]:
    """Headings and their rows."""
    yield "Connections", _connections()
    yield "Bodies", _bodies()
    yield "Foreign programs: templates, patterns, scenario files", _programs()
    yield "Records", _records()
    yield "Processes and machines", _processes()
    yield "Who gets in, what gets out", _gates()


def _connections() -> tuple[Row, ...]:
    room = f"{pace.MAX_BUFFERED // 1024} KiB"
    return (
        Row(
            "requests at once (`--max-in-flight`)",
            f"{app.MAX_REQUESTS_IN_FLIGHT:,}",
            "429 at once, with `retry-after: 1` and words; those inside go on",
            ("flood", "flood-by-aiohttp"),
        ),
        Row(
            "open files",
            f"all that the system allows, up to {MOST_HANDLES:,}",
            "the longest silent connections are closed to make room; one line on stderr a second",
            ("handle-limit", "make-room", "no-tracebacks"),
        ),
        Row("a reader that does not read", "one answer", "nothing more is read from it", ("silent-reader",)),
        Row("a reader that stops in a paced stream", room, "the stream waits", ("paced-reader",)),
        Row(
            "a connection without a request",
            f"{listen.KEEP_ALIVE_SECONDS:.0f} s",
            "it is closed",
            ("silent-connection",),
        ),
        Row(
            "a client that goes away",
            "any phase",
            "its place is free, the journal says how far the answer got",
            ("vanished", "vanished-early"),
        ),
        Row(
            "the head of a request",
            f"{heads.MAX_HEAD:,} bytes and {heads.MAX_FIELDS} fields the quick way, 8,190 bytes a line at most",
            "400",
            ("endless-head",),
        ),
        Row(
            "a request with two readings (two lengths, a length and chunks)",
            "",
            "400, and nothing of it is answered",
            ("one-reading",),
        ),
        Row("bytes that are no HTTP", "", "400; one line on stderr a second", ("no-http",)),
        Row("SIGTERM", f"{run.DRAIN_SECONDS:.0f} s", "answers on their way may end, then the rest is cut", ()),
    )


def _bodies() -> tuple[Row, ...]:
    return (
        Row(
            "a body (`--max-body-mb`)",
            f"{app.MAX_BODY_BYTES // MEGABYTE} MiB",
            f"413 while it is still being sent; above {direct.MAX_BODY // MEGABYTE} MiB it is not read the quick way",
            ("endless-body", "endless-body-direct"),
        ),
        Row(
            "a compressed body",
            "",
            "is not unpacked, as by the servers that are played: it is no JSON",
            ("packed-body",),
        ),
        Row(
            "brackets within brackets",
            f"some 250 to 950, by layout; never fewer than {DEEP}",
            "400 in the vendor's shape of an error",
            ("deep-body",),
        ),
        Row("bytes that are no UTF-8", "", "refused in the vendor's words", ("not-utf8",)),
        Row(
            "choices of one request, over all its prompts",
            f"{stage.MAX_CHOICES:,}",
            "400 in the vendor's shape of an error",
            ("choices",),
        ),
        Row("a defect of ours", "", "500 that says so and where; the connection goes on", ("defect",)),
    )


def _programs() -> tuple[Row, ...]:
    return (
        Row(
            "work of a chat template",
            f"{template_limits.MAX_WORK:,} steps (turns of loops, sizes of values)",
            "400: the template is refused",
            ("template-work",),
        ),
        Row(
            "a value that a chat template makes",
            f"{template_limits.MAX_VALUE:,} characters or members",
            "refused before it is made",
            ("template-size",),
        ),
        Row("a chat template", f"{template_limits.MAX_SOURCE:,} characters", "refused", ()),
        Row(
            "work of a regex in a scenario",
            f"{pattern.MAX_WORK:,} instructions; never exponential",
            "an error that names the regex",
            ("pattern-work",),
        ),
        Row(
            "text that a regex looks at",
            f"{pattern.MAX_TEXT:,} characters",
            "the rest is not looked at",
            ("pattern-text",),
        ),
        Row(
            "a scenario file",
            f"{load.MAX_BYTES // MEGABYTE} MiB, {source.MAX_DEPTH} levels; no anchors, aliases and tags",
            "an error that names file and line",
            ("yaml-aliases", "yaml-depth"),
        ),
    )


def _records() -> tuple[Row, ...]:
    return (
        Row(
            "the journal in memory",
            f"{journal.MAX_EXCHANGES:,} exchanges, {journal.MAX_BYTES // MEGABYTE} MiB",
            "the oldest go",
            ("journal-number", "journal-bytes"),
        ),
        Row(
            "`--journal`: a full disk",
            "",
            "answers go on; health, the exchange and exit code 1 say how many are missing and why",
            ("journal-full", "journal-torn"),
        ),
        Row("`--journal`: kill -9", "", "every ended exchange is in the file", ("journal-unbuffered",)),
        Row(
            "`record`: kill -9",
            "",
            "what a client has seen whole is in the file; a torn line is skipped and named",
            ("recorded-first", "torn-line"),
        ),
        Row(
            "`record`: a full disk",
            "",
            "the client is cut off instead of believing that it was recorded; the command ends in an error",
            ("recorder-full",),
        ),
    )


def _processes() -> tuple[Row, ...]:
    return (
        Row(
            "a worker that is killed",
            "",
            "it is started anew and named; the others answer meanwhile",
            ("worker-restart",),
        ),
        Row("a supervisor that is killed", "", "its workers end, the port is free", ("orphans",)),
        Row(
            "Redis that is gone",
            "",
            "500 to whom needed it, with words; answers again when it is back",
            ("redis-words",),
        ),
        Row(
            "Redis that hangs",
            f"{in_redis.TIMEOUT_SECONDS:.0f} s",
            f"one request waits for it, the others are refused at once for {in_redis.PAUSE_SECONDS:.0f} s",
            ("redis-pause",),
        ),
    )


def _gates() -> tuple[Row, ...]:
    return (
        Row(
            "the address",
            "127.0.0.1",
            "elsewhere the admin API has a token, given or made up and said",
            ("loopback", "admin-elsewhere", "admin-token"),
        ),
        Row(
            "pages of others in the developer's browser",
            "",
            "403 from the admin API: the name must be a loopback one, the origin its own",
            ("admin-host", "admin-origin"),
        ),
        Row(
            "the inspector",
            "",
            "loads and sends nothing elsewhere (Content-Security-Policy); text stays text, as in report.html",
            ("inspector-text", "inspector-policy", "report-text"),
        ),
        Row(
            "`from:` in a scenario",
            "its folder",
            "an error for `..`, other roots and links; over the admin API no file at all",
            ("from-folder", "from-network"),
        ),
        Row("a scenario's name", "a-z, 0-9, single dashes", "an error", ("scenario-name",)),
        Row(
            "secrets (keys, tokens, cookies in headers and queries, and bodies that repeat them)",
            "",
            "blanked in journals, recordings and reports",
            ("secrets-journal", "secrets-names", "secrets-query", "secrets-recording"),
        ),
        Row("a header's value", "one line", "line ends in it become blanks", ("header-lines",)),
    )
