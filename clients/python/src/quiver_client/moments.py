"""Moments, days and lengths of time as texts of ISO 8601, as ``quiver import`` writes them: texts of one form are in the order of time."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone
from typing import Any

_NS_OF = {
    "W": 604_800 * 10**9,
    "D": 86_400 * 10**9,
    "h": 3_600 * 10**9,
    "m": 60 * 10**9,
    "s": 10**9,
    "ms": 10**6,
    "us": 10**3,
    "ns": 1,
}
_CALENDAR_UNITS = {"Y", "M"}


def moment_text(value: datetime) -> str:
    """In UTC, with milliseconds and as many more places as it has; a moment without a zone is taken for UTC."""
    moment = value
    if value.tzinfo is not None:
        try:
            moment = value.astimezone(timezone.utc)
        except OverflowError:
            # At the ends of the calendar.
            return value.isoformat()
    nanoseconds = getattr(value, "nanosecond", 0)
    return _moment(
        datetime(moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second), moment.microsecond * 1000 + nanoseconds
    )


def date_text(value: date) -> str:
    """The beginning of the day."""
    return f"{value.isoformat()}T00:00:00.000Z"


def time_text(value: time) -> str:
    """hh:mm:ss, with as many places of the second as it has."""
    places = "seconds" if value.microsecond == 0 else "milliseconds" if value.microsecond % 1000 == 0 else "microseconds"
    return value.isoformat(timespec=places)


def duration_text(value: timedelta) -> str:
    """As PT1H2M3.5S."""
    microseconds = (value.days * 86_400 + value.seconds) * 10**6 + value.microseconds
    return _duration(microseconds * 1000 + getattr(value, "nanoseconds", 0))


def numpy_moment_text(value: Any) -> str:
    """The same of a ``datetime64``."""
    seconds, nanoseconds = divmod(_nanoseconds(value, "datetime64"), 10**9)
    try:
        return _moment(datetime(1970, 1, 1) + timedelta(seconds=seconds), nanoseconds)
    except OverflowError:
        # A year that Python's calendar has not.
        return f"{value}Z"


def numpy_duration_text(value: Any) -> str:
    """The same of a ``timedelta64``; lengths in months and years are counted in days of the calendar's average."""
    return _duration(_nanoseconds(value, "timedelta64"))


def _nanoseconds(value: Any, kind: str) -> int:
    import numpy as np

    unit, _ = np.datetime_data(value.dtype)
    if unit in _CALENDAR_UNITS:
        unit = "D" if kind == "datetime64" else "s"
    if unit not in _NS_OF:
        unit = "ns"
    return int(value.astype(f"{kind}[{unit}]").astype("int64")) * _NS_OF[unit]


def _moment(second: datetime, nanoseconds: int) -> str:
    return f"{second.isoformat(timespec='seconds')}.{_places(nanoseconds, 3)}Z"


def _places(nanoseconds: int, least: int) -> str:
    digits = f"{nanoseconds:09d}"
    return next((digits[:places] for places in (3, 6) if places >= least and not digits[places:].strip("0")), digits)


def _duration(nanoseconds: int) -> str:
    sign, size = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    seconds, rest = divmod(size, 10**9)
    fraction = f"{rest:09d}".rstrip("0")
    hours, minutes, seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    text = f"{sign}{hours}H" if hours else ""
    text += f"{sign}{minutes}M" if minutes else ""
    text += f"{sign}{seconds}{'.' if fraction else ''}{fraction}S" if seconds or fraction else ""
    return f"PT{text or '0S'}"
