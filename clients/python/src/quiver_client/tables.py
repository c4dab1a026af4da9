"""Answers as what they list: they are gone through, counted, shown as a table in notebooks, and made a frame of pandas."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    import pandas as pd

    from .models import HitGroup

__all__ = ["Rows", "Table"]

T = TypeVar("T")

_ROWS_SHOWN = 50
_CHARACTERS_SHOWN = 120
_METADATA = "metadata"


class Table(Generic[T]):
    """An answer that lists things. ``rows`` names the field that has them."""

    _rows_field = "results"

    def __init_subclass__(cls, rows: str = "results") -> None:
        cls._rows_field = rows

    @property
    def _rows(self) -> Sequence[T]:
        found: Sequence[T] = getattr(self, self._rows_field)
        groups: Sequence[Any] | None = getattr(self, "groups", None)
        if groups is None or len(found) > 0:
            return found
        # Of an answer in groups, the hits are theirs, one group's after the other's.
        return [hit for group in groups for hit in group.hits]

    def __iter__(self) -> Iterator[T]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> T: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...

    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        return self._rows[place]

    def __contains__(self, one: object) -> bool:
        return one in self._rows

    def to_pandas(self) -> pd.DataFrame:
        """A row for each, with a column for each of its fields and of the names in its metadata. Needs pandas."""
        return _frame(self._rows)

    def _repr_html_(self) -> str:
        return _html(self._rows)


class Rows(list[T]):
    """A list with the same table and frame."""

    total_matches: int | None = None
    """Of hits: how many items pass the filters, where ``total`` was asked for."""
    groups: list[HitGroup] | None = None
    """Of hits: their groups, where ``group_by`` was given; the rows are theirs, one group's after the other's."""

    def to_pandas(self) -> pd.DataFrame:
        """A row for each, with a column for each of its fields and of the names in its metadata. Needs pandas."""
        return _frame(self)

    def _repr_html_(self) -> str:
        return _html(self)


def _frame(rows: Sequence[Any]) -> pd.DataFrame:
    import pandas as pd

    records = [_record(one, has_arrays=True) for one in rows]
    columns = _columns(records)
    return pd.DataFrame({name: [record.get(name) for record in records] for name in columns}, columns=columns)


def _html(rows: Sequence[Any]) -> str:
    records = [_record(one, has_arrays=False) for one in rows[:_ROWS_SHOWN]]
    columns = _columns(records)
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    lines = ["<tr>" + "".join(f"<td>{_cell(record.get(name))}</td>" for name in columns) + "</tr>" for record in records]
    more = len(rows) - len(records)
    note = f"<p>{more:,} more</p>" if more > 0 else "" if records else "<p>nothing</p>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{note}"


def _columns(records: Sequence[dict[str, Any]]) -> list[str]:
    """Names in the order in which they come; fields that no row has are left out."""
    return list(dict.fromkeys(name for record in records for name in record))


def _record(one: Any, *, has_arrays: bool) -> dict[str, Any]:
    """The fields that have a value, and the metadata; a name of metadata that a field has stands behind ``metadata.``."""
    names = {field.name: field.metadata.get("name", field.name) for field in dataclasses.fields(one)}
    record: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    for attribute, name in names.items():
        value = getattr(one, attribute)
        if attribute == "encoded" and value is not None:
            value = one.array if has_arrays else f"{len(one.vector)} numbers"
        if name == _METADATA and isinstance(value, dict):
            metadata = value
        elif value is not None:
            record[name] = value
    taken = set(names.values())
    return record | {f"{_METADATA}.{name}" if name in taken else name: value for name, value in metadata.items()}


def _cell(value: object) -> str:
    text = "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
    return escape(text if len(text) <= _CHARACTERS_SHOWN else f"{text[: _CHARACTERS_SHOWN - 1]}…")
