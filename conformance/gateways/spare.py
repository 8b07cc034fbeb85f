"""Starts a command that wants one more port than its own: ``python spare.py COMMAND ... {spare} ...``.

``{spare}`` becomes a port of loopback that nobody listens on now; the command takes this process's place, so that
whoever started it ends it as well.
"""

from __future__ import annotations

import os
import socket
import sys

with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = str(probe.getsockname()[1])
words = [word.replace("{spare}", port) for word in sys.argv[1:]]
os.execvp(words[0], words)
