"""The reference client: bytes of any layout -> Capture, or a typed refusal. No I/O."""

from .events import Event, EventParser
from .reader import Reader, error_told, read, read_as_sent
from .refusal import KINDS, Refused

__all__ = ["KINDS", "Event", "EventParser", "Reader", "Refused", "error_told", "read", "read_as_sent"]
