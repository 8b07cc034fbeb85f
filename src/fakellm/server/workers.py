"""``serve --workers N``: several processes on one port, one script, one admin view.

The supervisor binds the port, loads the scenarios, forks the workers (they inherit both) and one admin process, and
then only waits: a worker that dies is told and started anew; when the supervisor itself is killed they all end, so that
nobody holds the port. Counters lie in shared memory (``state.by_workers``); each worker keeps its own journal and the
admin process joins them. The supervisor runs no event loop, so it may always fork.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

from ..errors import UsageError
from ..house import House
from ..state.by_workers import WorkerState
from .run import Bound, bound_socket, run_loop, serving, until_signal, url_of

READY = b"+"


@dataclass(slots=True)
class _Child:
    """A process of ours: worker number (None = the admin process) and the socket that it answers admin calls on."""

    number: int | None
    pid: int
    private: socket.socket


def run_workers(
    count: int, build: Callable[[WorkerState], House], bound: Bound, say: Callable[[str], None], *, strict: bool
) -> int:
    """Serve with so many workers until SIGTERM or SIGINT; gives the exit code (``strict``: 1 when a request found no
    reply). Raises UsageError where processes cannot be forked."""
    if not hasattr(os, "fork"):
        raise UsageError("workers need a system that can fork", where="--workers", hint="use several servers instead")
    state = WorkerState()
    state.mailboxes.open(count)
    house = build(state)
    for note in house.notes:
        say(f"note: {note}")
    listener = bound_socket(bound.host, bound.port)
    admin = bound_socket(bound.host, bound.admin_port) if bound.admin_port is not None else bound_socket("127.0.0.1", 0)
    token = secrets.token_urlsafe(16)
    privates = [bound_socket("127.0.0.1", 0) for _ in range(count)]
    for opened in (listener, admin, *privates):
        opened.listen(1024)
    supervisor = _Supervisor(house, state, bound, listener, admin, privates, token, say, strict)
    return supervisor.run()


class _Supervisor:
    """Forks, waits, restarts."""

    def __init__(
        self,
        house: House,
        state: WorkerState,
        bound: Bound,
        listener: socket.socket,
        admin: socket.socket,
        privates: list[socket.socket],
        token: str,
        say: Callable[[str], None],
        strict: bool,
    ) -> None:
        self._house = house
        self._state = state
        self._bound = bound
        self._listener = listener
        self._admin = admin
        self._privates = privates
        self._token = token
        self._say = say
        self._strict = strict
        self._children: dict[int, _Child] = {}
        self._alive, self._own = os.pipe()
        """Children wait at the first; only the supervisor holds the second, so they see when it is killed."""
        self._stopping = False

    def run(self) -> int:
        for number, private in enumerate(self._privates):
            self._start(number, private)
        self._start(None, self._admin)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        url = url_of(self._bound.host, self._listener)
        shared = self._bound.admin_port is None
        admin_url = (url if shared else url_of(self._bound.host, self._admin)) + "/_fakellm"
        line = {"event": "listening", "url": url, "admin_url": admin_url, "pid": os.getpid()}
        sys.stdout.write(json.dumps({**line, "workers": len(self._privates)}) + "\n")
        sys.stdout.flush()
        return self._wait()

    def _start(self, number: int | None, private: socket.socket) -> None:
        """Fork one process and wait until it serves."""
        ready_out, ready_in = os.pipe()
        pid = os.fork()
        if pid == 0:
            for signal_number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(signal_number, signal.SIG_DFL)  # until its own loop listens; ours would end its siblings
            os.close(ready_out)
            os.close(self._own)
            code = 70
            try:
                code = self._admin_process(ready_in) if number is None else self._worker(number, private, ready_in)
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        os.close(ready_in)
        with os.fdopen(ready_out, "rb") as pipe:
            pipe.read(1)
        self._children[pid] = _Child(number, pid, private)
        if self._stopping:  # the signal came while it started, when nobody knew of it
            self._end(pid)

    def _wait(self) -> int:
        worst = 0
        while self._children:
            try:
                pid, status = os.wait()
            except InterruptedError:
                continue
            except ChildProcessError:
                break
            child = self._children.pop(pid, None)
            if child is None:
                continue
            code = os.waitstatus_to_exitcode(status)
            if self._stopping:
                worst = max(worst, code if code >= 0 else 0)
                continue
            name = "the admin process" if child.number is None else f"worker {child.number}"
            how = f"was killed by signal {-code}" if code < 0 else f"ended with {code}"
            self._say(f"warning: {name} {how}; started anew (its journal is gone, a --journal file is not)")
            self._start(child.number, child.private)
        return worst

    def _stop(self, number: int, frame: object) -> None:
        self._stopping = True
        for pid in list(self._children):
            self._end(pid)

    def _end(self, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)

    # ------------------------------------------------------------- processes

    def _worker(self, number: int, private: socket.socket, ready: int) -> int:
        house = self._house
        self._state.salt = f"worker-{number}/"
        for stage in {id(each): each for each in (*house.fake.stages.values(), house.fake.default)}.values():
            stage.resalt(self._state.salt)
        from .joined import forwarding_app

        admin_url = url_of("127.0.0.1", self._admin)
        forwards = self._bound.admin_port is None
        app = forwarding_app(house, self._bound, admin_url if forwards else None)

        async def main() -> None:
            self._state.begin(number, asyncio.get_running_loop(), house.abort_here)
            own = replace(self._bound, admin_token=self._token, admin_port=None)
            async with (
                serving(house, own, accepting=self._listener, app=app),
                serving(house, own, accepting=private),
            ):
                os.write(ready, READY)
                await until_signal(self._alive)

        run_loop(main())
        journal = house.fake.journal
        if journal.unwritten:
            self._say(f"error: worker {number}: {journal.unwritten} exchanges lost: {journal.unwritten_why}")
        return 1 if journal.unwritten or (self._strict and journal.unmatched) else 0

    def _admin_process(self, ready: int) -> int:
        from .joined import joined_app

        urls = [url_of("127.0.0.1", private) for private in self._privates]
        app = joined_app(self._house, urls, self._token, self._bound.admin_token)

        async def main() -> None:
            async with serving(self._house, self._bound, accepting=self._admin, app=app, quick=False):
                os.write(ready, READY)
                await until_signal(self._alive)

        run_loop(main())
        return 0
