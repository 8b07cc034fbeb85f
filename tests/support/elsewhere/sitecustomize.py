"""A Python without what only POSIX has: put this folder on PYTHONPATH, and a process finds itself elsewhere.

It cannot change what a path looks like; it takes away signals, forks, groups, Unix sockets and loop calls, which is
what Windows lacks, and the modules that exist on POSIX alone.
"""

import asyncio
import asyncio.unix_events
import os
import signal
import socket
import sys

for name in (
    "fork",
    "forkpty",
    "killpg",
    "setsid",
    "getpgid",
    "setpgid",
    "getuid",
    "geteuid",
    "getgid",
    "wait",
    "nice",
):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGKILL", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGCHLD", "SIGQUIT", "alarm", "pthread_sigmask"):
    if hasattr(signal, name):
        delattr(signal, name)
_FAMILY, _PAIR = socket.AF_UNIX, socket.socketpair
socket.socketpair = lambda family=_FAMILY, *more: _PAIR(family, *more)  # there too, by other means: loops need one
for name in ("AF_UNIX", "SO_REUSEPORT"):
    if hasattr(socket, name):
        delattr(socket, name)
for name in ("fcntl", "resource", "pwd", "grp", "termios", "uvloop", "syslog"):
    sys.modules[name] = None


def _unsupported(*_: object, **__: object) -> None:
    raise NotImplementedError


for name in ("add_signal_handler", "remove_signal_handler"):
    setattr(asyncio.unix_events._UnixSelectorEventLoop, name, _unsupported)
