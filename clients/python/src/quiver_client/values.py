"""Values as programs have them (numpy, pandas, dates, decimals) as JSON has them, by one rule for all of the client."""

from __future__ import annotations

import base64
import json
import math
import os
from collections import deque
from collections.abc import Iterable, Mapping, Sequence, Set, ValuesView
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from struct import Struct
from typing import Any
from uuid import UUID

from .errors import InvalidValueError
from .moments import date_text, duration_text, moment_text, numpy_duration_text, numpy_moment_text, time_text

EXACT_MAX = 2**53 - 1
"""Whole numbers beyond it are not exact in the service: they are sent as texts."""
FLOAT32_BYTES = 4
_FLOAT32 = Struct("<f")
_EXPONENT_MAX = 1000
_MISSING = {"NAType", "NaTType"}
_PANDAS_TEXTS = {"Period", "Interval"}


def is_nothing(value: object) -> bool:
    """Whether there is no value: None, NaN, an infinite number, NA and NaT of pandas, NaT of numpy, a decimal that is none."""
    if value is None:
        return True
    kind = type(value)
    if kind is str or kind is int or kind is bool or kind is dict or kind is list:
        return False
    if isinstance(value, float):
        return not math.isfinite(value)
    if kind.__name__ in _MISSING:
        return True
    if isinstance(value, Decimal):
        return not value.is_finite()
    dtype = getattr(value, "dtype", None)
    if dtype is None or getattr(value, "shape", None) != ():
        return False
    dtype_kind = getattr(dtype, "kind", "")
    if dtype_kind == "f":
        return not math.isfinite(value)  # type: ignore[arg-type]
    return dtype_kind in ("m", "M") and str(value) == "NaT"


class JsonValues:
    """Makes JSON of values. ``takes_nothing``: what is no value (NaN and its like) becomes null; otherwise it is an error."""

    def __init__(self, *, takes_nothing: bool) -> None:
        self._takes_nothing = takes_nothing

    def object_of(self, value: object, field: str) -> dict[str, Any]:
        """An object; ``InvalidValueError`` names the place of what can't be sent."""
        if type(value) is not dict and not isinstance(value, Mapping):
            raise InvalidValueError(f"is {named(value)}, not an object of names and values", field=field)
        return self.value_of(value, field)  # type: ignore[no-any-return]

    def value_of(self, value: object, field: str) -> Any:
        """Any value."""
        try:
            return self._value(value)
        except InvalidValueError as error:
            raise error.below(field) from None
        except RecursionError:
            raise InvalidValueError("is nested too deeply, or holds itself", field=field) from None

    def _value(self, value: Any) -> Any:
        kind = type(value)
        if kind is str:
            return value if value.isascii() else checked_text(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return value if -EXACT_MAX <= value <= EXACT_MAX else str(value)
        if kind is float:
            return value if math.isfinite(value) else self._nothing(value)
        if kind is dict:
            return self._object(value)
        if kind is list or kind is tuple:
            return self._list(value)
        return self._foreign(value)

    def _nothing(self, value: object) -> None:
        if not self._takes_nothing:
            raise InvalidValueError(f"{value} is no value")

    def _object(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, one in value.items():
            name = key if type(key) is str and key.isascii() else self._key(key)
            if name in found:
                raise InvalidValueError(f"two of its keys are {name!r} as texts, one of them {key!r}")
            # Most values are these.
            if type(one) is str and one.isascii():
                found[name] = one
                continue
            try:
                found[name] = self._value(one)
            except InvalidValueError as error:
                raise error.below(name) from None
        return found

    def _key(self, key: object) -> str:
        text = self._value(key)
        if isinstance(text, str):
            return text
        if isinstance(text, (list, dict)):
            raise InvalidValueError(f"{named(key)} can't be a key: {key!r}")
        return json.dumps(text)

    def _list(self, values: Iterable[Any]) -> list[Any]:
        found = []
        for i, one in enumerate(values):
            try:
                found.append(self._value(one))
            except InvalidValueError as error:
                raise error.below(i) from None
        return found

    def _foreign(self, value: Any) -> Any:
        kind = type(value)
        if isinstance(value, Enum):
            return self._value(value.value)
        if isinstance(value, str):
            return checked_text(str(value))
        if isinstance(value, int):
            return self._value(int(value))
        if is_nothing(value):
            return self._nothing(value)
        if isinstance(value, float):
            return float(value)
        if isinstance(value, datetime):
            return moment_text(value)
        if isinstance(value, date):
            return date_text(value)
        if isinstance(value, time):
            return time_text(value)
        if isinstance(value, timedelta):
            return duration_text(value)
        if isinstance(value, Decimal):
            return decimal_value(value)
        if isinstance(value, UUID):
            return str(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return base64.b64encode(value).decode("ascii")
        if isinstance(value, Mapping):
            return self._object(value)
        if kind.__name__ in _PANDAS_TEXTS and kind.__module__.startswith("pandas"):
            return str(value)
        if isinstance(value, (set, frozenset)):
            return _ordered(self._list(value))
        if getattr(value, "typecode", None) == "f":
            return self._list(one if is_nothing(one) else shortest_float(one) for one in value)
        if isinstance(value, (Sequence, Set, ValuesView, deque)):
            return self._list(value)
        if isinstance(value, os.PathLike):
            return self._value(os.fspath(value))
        return self._by_library(value)

    def _by_library(self, value: Any) -> Any:
        """Scalars, arrays and columns of numpy, pandas and what is like them."""
        dtype = getattr(value, "dtype", None)
        dtype_kind = getattr(dtype, "kind", None)
        if dtype_kind == "M" and type(value).__name__ == "datetime64":
            return numpy_moment_text(value)
        if dtype_kind == "m" and type(value).__name__ == "timedelta64":
            return numpy_duration_text(value)
        if dtype_kind in ("m", "M") and getattr(value, "ndim", 0) > 0:
            return self._list(value)
        if dtype_kind == "f" and getattr(dtype, "itemsize", 0) == FLOAT32_BYTES:
            return self._list(value) if getattr(value, "ndim", 0) > 0 else self._value(shortest_float(float(value)))
        if hasattr(value, "tolist"):
            plain = value.tolist()
            # A long double stays one.
            return self._value(plain) if type(plain) is not type(value) else self._value(float(plain))
        raise InvalidValueError(f"is {named(value)}, which JSON has not: make a text, a number, a list or an object of it")


METADATA = JsonValues(takes_nothing=True)
FILTERS = JsonValues(takes_nothing=False)


def checked_text(text: str) -> str:
    """The text; ``InvalidValueError`` where it holds half of a character."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidValueError(f"character {error.start} of the text is half of one (a lone surrogate)") from None
    return text


def decimal_value(value: Decimal) -> int | float | str:
    """A number where a double, printed again, is the same decimal; else the decimal as text, with all of its places."""
    if abs(value.adjusted()) > _EXPONENT_MAX:
        return str(value)
    if value == value.to_integral_value():
        whole = int(value)
        return whole if -EXACT_MAX <= whole <= EXACT_MAX else format(value, "f")
    number = float(value)
    return number if Decimal(repr(number)) == value else format(value, "f")


def shortest_float(value: float) -> float:
    """Of a number that has 32 bits, the one of the fewest digits that is the same in 32 bits: 0.1 and not 0.10000000149011612."""
    if not math.isfinite(value):
        return value
    packed = _FLOAT32.pack(value)
    for digits in range(1, 9):
        shorter = float(f"{value:.{digits}g}")
        try:
            if _FLOAT32.pack(shorter) == packed:
                return shorter
        except OverflowError:
            # Rounded up, it is more than 32 bits hold.
            continue
    return float(f"{value:.9g}")


def named(value: object) -> str:
    """The type of a value, for a message."""
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _ordered(values: list[Any]) -> list[Any]:
    """The members of a set, which has no order, in one that is the same each time."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=json.dumps)
