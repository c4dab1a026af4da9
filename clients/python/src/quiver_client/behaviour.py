"""What answers do besides having fields: the classes that those of ``models.py`` are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from .vectors import decode_array, decode_vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .models import Hit, SearchProfile

__all__ = ["HasRows", "HasVector", "IsOver", "ProfiledBulkSearch"]


class _Stored(Protocol):
    @property
    def external_id(self) -> str: ...
    @property
    def encoded(self) -> list[float] | str | None: ...


class HasVector:
    """A vector as it came, which is decoded when somebody asks for it."""

    @property
    def vector(self: _Stored) -> list[float] | None:
        """The vector as numbers; None where none was asked for."""
        return None if self.encoded is None else decode_vector(self.encoded)

    @property
    def array(self: _Stored) -> NDArray[np.float32]:
        """The vector as a numpy array; ``ValueError`` where none was asked for."""
        if self.encoded is None:
            raise ValueError(f"{self.external_id!r} came without its vector: ask with include_vectors=True")
        return decode_array(self.encoded)


class _Encoded(Protocol):
    @property
    def data(self) -> str: ...
    @property
    def dimensions(self) -> int: ...


class HasRows:
    """A row of numbers for each item, all in one text of base64."""

    @property
    def array(self: _Encoded) -> NDArray[np.float32]:
        """A row for each item."""
        return decode_array(self.data).reshape(-1, self.dimensions)

    @property
    def rows(self: _Encoded) -> list[list[float]]:
        """The same as lists."""
        numbers = decode_vector(self.data)
        return [numbers[start : start + self.dimensions] for start in range(0, len(numbers), self.dimensions)]


class _Underway(Protocol):
    @property
    def state(self) -> str: ...


class IsOver:
    """Work that ends."""

    @property
    def is_over(self: _Underway) -> bool:
        """Whether there is nothing to wait for any more."""
        return self.state in ("done", "failed", "cancelled")


@dataclass(frozen=True)
class ProfiledBulkSearch:
    """A list of hits for each query, and where the time of each request went that it took."""

    results: list[list[Hit]]
    profiles: list[SearchProfile]
