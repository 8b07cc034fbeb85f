"""The fake that a test server shows: whatever handle is playing now, behind one address that stays.

The server's thread answers while the test's thread scripts and reads, so everything that touches a handle's house
happens under its lock: :class:`SharedFake` takes it for every request, the handle for everything it does itself.
"""

from __future__ import annotations

import threading
import time

from ..ask import Request
from ..fake import Fake
from ..house import House
from ..journal import Exchange
from ..problem import problem_wire
from ..stage import Answer

IDLE = "no test is using fakellm now: this request came before the fixture was set up, or after it was torn down"


class SharedFake(Fake):
    """A fake that the server's thread and the test's thread use; ``lock`` is held while it answers."""

    def __init__(self, house: House) -> None:
        fake = house.fake
        super().__init__(fake.stages, fake.default, now=fake.now, journal=fake.journal)
        self.lock = threading.RLock()

    def answer(self, request: Request) -> tuple[Answer, Exchange]:
        with self.lock:
            return super().answer(request)

    def ended(self, exchange: Exchange, finished_ms: float | None) -> None:
        with self.lock:
            super().ended(exchange, finished_ms)


class Front(Fake):
    """What the server of a whole session serves: ``playing``, the fake of the test that runs now, or a clear refusal.

    An exchange ends where it began, so that a late one cannot show up in the next test's journal.
    """

    def __init__(self, house: House) -> None:
        super().__init__({}, house.fake.default, now=time.time)
        self.playing: SharedFake | None = None

    def answer(self, request: Request) -> tuple[Answer, Exchange]:
        playing = self.playing
        if playing is not None:
            return playing.answer(request)
        exchange = Exchange(0, self.now(), "", request, problem=IDLE)
        exchange.wire = problem_wire(501, IDLE, "fakellm_idle")
        return Answer(exchange.wire, problem=IDLE), exchange
