"""Which failed calls are sent again, and when. Decides only; waiting is the transport's."""

from __future__ import annotations

import random
from dataclasses import dataclass

from .errors import ApiError, BadAnswerError, QuiverConnectionError, QuiverError

__all__ = ["NO_RETRIES", "RetryPolicy"]

_NOT_CARRIED_OUT = {429}
# A proxy also answers 503 where the connection ended after the call was passed on.
_UNKNOWN = {500, 502, 503, 504}


@dataclass(frozen=True)
class RetryPolicy:
    """How patient a client is.

    A call that was certainly not carried out (no connection, 429) is sent again whatever it does; one whose outcome is
    unknown (a broken connection, a timeout, 500) only where a repetition does no harm: reads, upserts and deletes.
    """

    attempts_max: int = 4
    """How often a call is sent at most."""
    delay_s: float = 0.2
    """Before the second attempt; it doubles from there. A random half of each delay is left out."""
    delay_max_s: float = 10.0
    """Longest delay of its own accord. The service's ``Retry-After`` may ask for a longer one."""
    elapsed_max_s: float = 90.0
    """No attempt begins later than this after the first; the default waits out one window of the rate limit."""

    def delay_before_next(
        self, error: QuiverError, *, attempt: int, is_safe: bool, elapsed_s: float, chance: float | None = None
    ) -> float | None:
        """Seconds to wait before attempt ``attempt + 1``; None when the error is final."""
        if attempt >= self.attempts_max or not _may_repeat(error, is_safe=is_safe):
            return None
        drawn = random.random() if chance is None else chance
        delay = min(self.delay_max_s, self.delay_s * 2 ** (attempt - 1)) * (0.5 + drawn / 2)
        asked = error.retry_after if isinstance(error, (ApiError, BadAnswerError)) else None
        if asked is not None:
            # Those that wait for the same moment come one after another.
            delay = asked + delay
        return delay if elapsed_s + delay <= self.elapsed_max_s else None


NO_RETRIES = RetryPolicy(attempts_max=1)
"""Every failure is final."""


def may_have_been_carried_out(error: QuiverError) -> bool:
    """Whether the call that failed so may have had its effect all the same."""
    return error.may_have_arrived if isinstance(error, QuiverConnectionError) else _code(error) in _UNKNOWN


def _may_repeat(error: QuiverError, *, is_safe: bool) -> bool:
    if isinstance(error, QuiverConnectionError):
        return is_safe or not error.may_have_arrived
    return _code(error) in _NOT_CARRIED_OUT or (is_safe and _code(error) in _UNKNOWN)


def _code(error: QuiverError) -> int | None:
    return error.code if isinstance(error, ApiError) else getattr(error, "http_status", None)
