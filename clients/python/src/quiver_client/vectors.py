"""Vectors between Python and the wire, where they are base64 of little-endian float32 values."""

from __future__ import annotations

import base64
import math
import re
import sys
from array import array
from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

from .errors import InvalidValueError
from .values import is_nothing, named

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["VectorFormat", "VectorLike", "decode_array", "decode_vector", "encode_vector"]

VectorLike: TypeAlias = Union[Sequence[float], "NDArray[Any]", "array[float]", bytes, bytearray, memoryview, str]
"""A vector to send: numbers, anything numpy can make an array of, little-endian float32 bytes, base64 of them, or a list as
its text in brackets, as CSV files have it."""

VectorFormat: TypeAlias = Literal["array", "base64"]
"""How vectors come back: JSON numbers, or base64, which is shorter and much faster to read."""

_IS_BIG_ENDIAN = sys.byteorder == "big"
_FLOAT32_BYTES = 4
_SHOWN_CHARACTERS = 40
_LISTED = re.compile(r"\s*\[(.*)\]\s*", re.DOTALL)
_BETWEEN = re.compile(r"\s*,\s*|\s+")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf)", re.ASCII | re.IGNORECASE)


def encode_vector(vector: VectorLike) -> str:
    """Base64 of the vector's little-endian float32 values. ``InvalidValueError``, a ValueError, for what is no vector."""
    data = vector_bytes(vector)
    return vector if isinstance(vector, str) and _LISTED.fullmatch(vector) is None else _base64(data)


def vector_bytes(vector: VectorLike) -> bytes:
    """Little-endian float32 values. ``InvalidValueError`` names the number that is none, or is not finite."""
    if isinstance(vector, str):
        listed = _LISTED.fullmatch(vector)
        if listed is not None:
            return _bytes_of_numbers(_numbers_of(listed[1].strip()))
        try:
            data = base64.b64decode(vector, validate=True)
        except ValueError:
            data = None
        # Words of four letters are base64, too.
        if data is None or len(data) % _FLOAT32_BYTES:
            raise InvalidValueError("is a text that is no base64 of float32 values; a text to be embedded is given as text")
        return data
    if isinstance(vector, (bytes, bytearray)) or (isinstance(vector, memoryview) and vector.format == "B"):
        if len(vector) % _FLOAT32_BYTES:
            raise InvalidValueError(f"has {len(vector)} bytes, which is no whole number of float32 values")
        return bytes(vector)
    if hasattr(vector, "__array__"):
        return _bytes_of_array(vector)
    if isinstance(vector, (Mapping, Set)) or not hasattr(vector, "__iter__"):
        hint = "; metadata are given as metadata" if isinstance(vector, Mapping) else ""
        raise InvalidValueError(f"is {named(vector)}, not a list of numbers{hint}")
    return _bytes_of_numbers(vector)


def _numbers_of(text: str) -> list[float | str]:
    parts = _BETWEEN.split(text) if text else []
    if "..." in parts:
        raise InvalidValueError("is a list that numpy has shortened: what stands for ... is lost")
    return [float(part) if _NUMBER.fullmatch(part) else part for part in parts]


def _bytes_of_numbers(vector: Any) -> bytes:
    given = vector if isinstance(vector, (list, tuple, array)) else list(vector)
    try:
        numbers = array("f", given)
    except (TypeError, ValueError, OverflowError) as error:
        raise _wrong_number(given, error) from None
    if not math.isfinite(sum(numbers)):
        place = next(i for i, one in enumerate(numbers) if not math.isfinite(one))
        raise _not_finite(place, given[place])
    if _IS_BIG_ENDIAN:
        numbers.byteswap()
    return numbers.tobytes()


def _wrong_number(values: Sequence[Any], error: Exception) -> InvalidValueError:
    for i, one in enumerate(values):
        if is_nothing(one):
            return _not_finite(i, one)
        if isinstance(one, (list, tuple)) or getattr(one, "shape", ()) not in ((), None):
            return InvalidValueError("is a list of lists, not one vector")
        try:
            array("f", [one])
        except OverflowError:
            return _not_finite(i, one)
        except (TypeError, ValueError):
            return InvalidValueError(f"number {i} is {repr(one)[:_SHOWN_CHARACTERS]}, {named(one)}")
    return InvalidValueError(str(error))


def _not_finite(place: int, value: object) -> InvalidValueError:
    if is_nothing(value):
        return InvalidValueError(f"number {place} is {value}")
    return InvalidValueError(f"number {place} is {repr(value)[:_SHOWN_CHARACTERS]}, beyond what float32 holds")


def _bytes_of_array(vector: Any) -> bytes:
    import numpy as np

    if np.ma.is_masked(vector):
        # Numpy would give what is behind the mask.
        return _bytes_of_numbers(vector.tolist())
    try:
        values = np.asarray(vector)
    except (TypeError, ValueError, RuntimeError) as error:
        # Of a tensor on another device, say.
        raise InvalidValueError(f"numpy can't make an array of it: {error}") from None
    if values.ndim != 1:
        raise InvalidValueError(f"a vector has one dimension, not the shape {values.shape}")
    if values.dtype.kind == "O":
        return _bytes_of_numbers(values.tolist())
    if values.dtype.kind not in "fiub":
        raise InvalidValueError(f"is an array of {values.dtype}, not of real numbers")
    if values.dtype.kind == "f" and values.dtype.itemsize > _FLOAT32_BYTES:
        with np.errstate(over="ignore"):
            numbers = np.ascontiguousarray(values, dtype="<f4")
    else:
        numbers = np.ascontiguousarray(values, dtype="<f4")
    if not np.isfinite(numbers).all():
        place = int(np.argmin(np.isfinite(numbers)))
        raise _not_finite(place, values[place].item())
    return numbers.tobytes()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def decode_vector(vector: str | list[float]) -> list[float]:
    """The numbers of a vector that the service answered, in either form."""
    if not isinstance(vector, str):
        return vector
    numbers = array("f")
    numbers.frombytes(base64.b64decode(vector))
    if _IS_BIG_ENDIAN:
        numbers.byteswap()
    return numbers.tolist()


def decode_array(vector: str | list[float]) -> NDArray[np.float32]:
    """The same as a numpy array of float32, which may be written to."""
    import numpy as np

    if not isinstance(vector, str):
        return np.array(vector, dtype=np.float32)
    return np.frombuffer(bytearray(base64.b64decode(vector)), dtype="<f4").astype(np.float32, copy=False)
