"""Vectors between Python and the wire, where they are base64 of little-endian float32 values."""

from __future__ import annotations

import base64
import sys
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["VectorFormat", "VectorLike", "decode_array", "decode_vector", "encode_vector"]

VectorLike: TypeAlias = Union[Sequence[float], "NDArray[Any]", "array[float]", bytes, bytearray, memoryview, str]
"""A vector to send: numbers, anything numpy can make an array of, little-endian float32 bytes, or base64 of them."""

VectorFormat: TypeAlias = Literal["array", "base64"]
"""How vectors come back: JSON numbers, or base64, which is shorter and much faster to read."""

_IS_BIG_ENDIAN = sys.byteorder == "big"


def encode_vector(vector: VectorLike) -> str:
    """Base64 of the vector's little-endian float32 values."""
    if isinstance(vector, str):
        return vector
    if isinstance(vector, (bytes, bytearray)) or (isinstance(vector, memoryview) and vector.format == "B"):
        return _base64(bytes(vector))
    if hasattr(vector, "__array__"):
        import numpy as np

        values = np.asarray(vector)
        if values.ndim != 1:
            raise ValueError(f"a vector has one dimension, not the shape {values.shape}")
        return _base64(np.ascontiguousarray(values, dtype="<f4").tobytes())
    numbers = array("f", vector)
    if _IS_BIG_ENDIAN:
        numbers.byteswap()
    return _base64(numbers.tobytes())


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
