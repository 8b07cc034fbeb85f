"""Taking the machine out of a text before it is published: paths, ports, host names, times, addresses in memory.

Pure: what this machine is called is an argument. The same text always comes out the same, so that two runs of the
matrix can be compared line by line.
"""

from __future__ import annotations

import getpass
import re
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

_SITE = re.compile(r"(?:[A-Za-z]:)?[^\s\"'`(<>|,;]*?(?:site|dist)-packages[/\\]")
_PYTHON = re.compile(r"(?:[A-Za-z]:)?[/\\][^\s\"'`(<>|,;]*?[/\\]lib[/\\]python3\.\d+[/\\]")
_MODULES = re.compile(r"(?:file://)?(?:[A-Za-z]:)?[/\\][^\s\"'`(<>|,;]*?[/\\]node_modules[/\\]")
_HOME = re.compile(r"(?:[A-Za-z]:\\Users\\|/home/|/Users/)[^/\\\s\"'`:]+|/root(?=[/\s\"'`:]|$)")
_TEMPORARY = re.compile(r"(?:/private)?/(?:tmp|var/folders)/[^\s\"'`),:]*")
_PORT = re.compile(r"\b(127\.0\.0\.1|localhost|0\.0\.0\.0|\[::1?\])(:|', )\d{2,5}\b")
_PORT_ALONE = re.compile(r"(\bport[ =:]{1,2})\d{4,5}\b")
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")
_CREATED = re.compile(r"(\\?\"created(?:_at)?\\?\":\s?)\d{10}((?:\d{3})?)\b(?:\.\d+)?")
_STAMP = re.compile(r"(\\?\"[a-z_]+_ts\\?\":\s?)\d{10}\b(?:\.\d+)?")
_PROCESS = re.compile(r"\b(pid[ =:]{1,2}|process )\d+\b")


@dataclass(frozen=True, slots=True)
class Machine:
    """What would give this machine away: the repository's place, host name, user, home and temporary folder."""

    root: str
    host: str
    user: str
    home: str
    temporary: str

    @classmethod
    def this(cls, root: Path) -> Machine:
        """The machine that this runs on."""
        return cls(str(root), socket.gethostname(), getpass.getuser(), str(Path.home()), tempfile.gettempdir())


def scrubbed(text: str, machine: Machine) -> str:
    """The text without anything of the machine.

    >>> machine = Machine("/srv/repo", "box7", "ann", "/srv/ann", "/scratch")
    >>> scrubbed("refused by http://127.0.0.1:41873/v1 on box7, see /srv/repo/x.py", machine)
    'refused by http://127.0.0.1:PORT/v1 on HOST, see x.py'
    """
    text = _SITE.sub("", text)
    text = _MODULES.sub("node_modules/", text)
    text = text.replace(f"{machine.root}/", "").replace(machine.root, ".")
    text = _PYTHON.sub("python/", text)
    for place, word in ((machine.temporary, "TMP"), (machine.home, "~")):
        if len(place) > 1:
            text = re.sub(re.escape(place) + r"(?=[/\\\s\"'`:),]|$)[^\s\"'`),:]*", word, text)
    text = _TEMPORARY.sub("TMP", text)
    text = _HOME.sub("~", text)
    text = _PORT.sub(r"\1\2PORT", text)
    text = _PORT_ALONE.sub(r"\1PORT", text)
    text = _ADDRESS.sub("0x…", text)
    text = _CREATED.sub(r"\g<1>1700000000\g<2>", text)
    text = _STAMP.sub(r"\g<1>1700000000.0", text)
    text = _PROCESS.sub(r"\1N", text)
    return _named(text, machine.host, "HOST")


def scrubbed_all(thing: Any, machine: Machine) -> Any:
    """Every string of a JSON-able thing, keys included."""
    if isinstance(thing, str):
        return scrubbed(thing, machine)
    if isinstance(thing, Mapping):
        pairs = cast("Mapping[str, Any]", thing)
        return {scrubbed(name, machine): scrubbed_all(value, machine) for name, value in pairs.items()}
    if isinstance(thing, list | tuple):
        rows = cast("list[Any]", thing)
        return [scrubbed_all(row, machine) for row in rows]
    return thing


def _named(text: str, name: str, word: str) -> str:
    """A host name as a word of its own; one of a letter or two would be found everywhere."""
    short = name.partition(".")[0]
    for one in (name, short):
        if len(one) > 2 and one.lower() not in ("localhost", "host"):
            text = re.sub(rf"(?<![\w-]){re.escape(one)}(?![\w-])", word, text)
    return text
