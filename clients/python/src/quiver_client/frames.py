"""Rows of frames and arrays as items."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

from .bodies import text_body
from .columns import Column, Columns, column_of, columns_of
from .errors import InvalidValueError
from .ids import CallIds, id_text
from .values import METADATA, is_nothing
from .vectors import vector_bytes

__all__ = ["ArrayLike", "FrameLike"]

FrameLike: TypeAlias = Any
"""A frame of pandas or polars, a table of Arrow, or a mapping of columns."""
ArrayLike: TypeAlias = Any
"""A list, an array of numpy, or a series."""

# What columns are mostly called, the likeliest first; as `quiver import` has it.
_ID_NAMES = ("external_id", "id", "_id", "key", "uuid", "doc_id", "item_id")
_VECTOR_NAMES = ("vector", "embedding", "embeddings", "emb", "vec", "values", "features")
_TEXT_NAMES = ("text", "content", "document", "body", "chunk", "passage", "page_content", "title")
_METADATA_NAMES = ("metadata", "payload", "meta")
_TAKEN_AT_ONCE = 1_000
_FLOAT32_BYTES = 4


@dataclass(frozen=True)
class ItemRows:
    """Items of which each has a place in columns."""

    length: int
    ids: Column
    vector: Column | list[Column] | None
    text: Column | None
    metadata: Sequence[Column]
    metadata_objects: Column | None = None

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for start in range(0, self.length, _TAKEN_AT_ONCE):
            yield from self._items(start, min(start + _TAKEN_AT_ONCE, self.length))

    def _items(self, start: int, stop: int) -> Iterator[dict[str, Any]]:
        nothing = [None] * (stop - start)
        taken = [(column.name, column.take(start, stop)) for column in self.metadata]
        objects = nothing if self.metadata_objects is None else self.metadata_objects.take(start, stop)
        vectors = nothing if self.vector is None else self._vectors(start, stop)
        texts = nothing if self.text is None else self.text.take(start, stop)
        for i, external_id in enumerate(self.ids.take(start, stop)):
            item: dict[str, Any] = {"external_id": external_id}
            if not is_nothing(vectors[i]):
                item["vector"] = vectors[i]
            if not is_nothing(texts[i]):
                item["text"] = texts[i]
            found = {name: values[i] for name, values in taken if not is_nothing(values[i])}
            item["metadata"] = found if is_nothing(objects[i]) else self._joined(found, objects[i])
            yield item

    def _joined(self, found: dict[str, Any], other: Any) -> Any:
        """The metadata of a row; what is none is told when the item is made."""
        return {**found, **other} if isinstance(other, Mapping) else other

    def _vectors(self, start: int, stop: int) -> Sequence[Any]:
        if not isinstance(self.vector, list):
            return [] if self.vector is None else self.vector.take(start, stop)
        arrays = [column.array for column in self.vector]
        if arrays and None not in arrays:
            import numpy as np

            return list(np.column_stack([array(start, stop) for array in arrays if array is not None]))
        return list(zip(*(column.take(start, stop) for column in self.vector), strict=True))

    def check(self) -> None:
        """``InvalidValueError`` for the first row that can't be sent: ids, vectors (their length, too), texts, metadata."""
        ids, vectors = CallIds(), _VectorCheck(self.vector)
        for start in range(0, self.length, _TAKEN_AT_ONCE):
            stop = min(start + _TAKEN_AT_ONCE, self.length)
            given = self.ids.take(start, stop)
            for values, check in self._checks(start, stop, given, ids, vectors):
                for i, value in enumerate(values):
                    try:
                        check(value, start + i)
                    except InvalidValueError as error:
                        raise error.of_item(start + i, _shown_id(given[i])) from None

    def _checks(
        self, start: int, stop: int, given: Sequence[Any], ids: CallIds, vectors: _VectorCheck
    ) -> Iterator[tuple[Sequence[Any], Callable[[Any, int], Any]]]:
        """Values, and what each of them with its number is to be given to."""
        yield given, partial(_check_id, ids)
        yield self._vectors(start, stop), vectors.check
        if self.text is not None:
            yield self.text.take(start, stop), partial(_check_text, self.text.name)
        for column in self.metadata:
            if not column.is_checked:
                yield column.take(start, stop), partial(_check_value, f"metadata.{column.name}")
        if self.metadata_objects is not None:
            yield self.metadata_objects.take(start, stop), partial(_check_object, self.metadata_objects.name)


class _VectorCheck:
    """Whether vectors can be sent, and are all of one length."""

    def __init__(self, source: Column | list[Column] | None) -> None:
        self._source = source
        self._dim: int | None = None

    def check(self, vector: Any, position: int) -> None:
        if is_nothing(vector):
            return
        try:
            count = len(vector_bytes(vector)) // _FLOAT32_BYTES
        except InvalidValueError as error:
            raise error.below(self._place(vector)) from None
        if self._dim is not None and count != self._dim:
            raise InvalidValueError(f"has {count} numbers, and those before it {self._dim}", field=self._place(vector))
        self._dim = count

    def _place(self, vector: Any) -> str:
        if not isinstance(self._source, list):
            return "vector" if self._source is None else self._source.name
        return next((column.name for column, value in zip(self._source, vector, strict=True) if is_nothing(value)), "vector")


def _check_id(ids: CallIds, external_id: Any, position: int) -> None:
    ids.note(external_id, id_text(external_id), position)


def _check_text(name: str, text: Any, position: int) -> None:
    text_body(text, name)


def _check_value(place: str, value: Any, position: int) -> None:
    METADATA.value_of(value, place)


def _check_object(name: str, value: Any, position: int) -> None:
    if not is_nothing(value):
        METADATA.object_of(value, name)


def _shown_id(external_id: object) -> str | None:
    try:
        return id_text(external_id)
    except InvalidValueError:
        return None


def rows_of_frame(
    frame: FrameLike,
    *,
    id: str | None,
    vector: str | Sequence[str] | Literal[False] | None,
    text: str | Literal[False] | None,
    metadata: Sequence[str] | Literal[False] | None,
) -> ItemRows:
    """The rows of a table. ``InvalidValueError`` where it has not the columns that are named, or none could be the ids."""
    columns = columns_of(frame)
    ids = _id_column(columns, id)
    found_vector = None if vector is False else _vector_columns(columns, vector)
    found_text = None if text is False else columns.named(text) if text is not None else _likely(columns, _TEXT_NAMES)
    if found_vector is None and found_text is None:
        raise InvalidValueError(f"which column has vectors (vector=…) or texts (text=…)? There is: {', '.join(columns.by_name)}")
    used = {ids.name} | {
        one.name for one in (found_vector if isinstance(found_vector, list) else [found_vector, found_text]) if one is not None
    }
    used |= set() if found_text is None else {found_text.name}
    if metadata is not None:
        return ItemRows(
            columns.length, ids, found_vector, found_text, [] if metadata is False else [columns.named(name) for name in metadata]
        )
    objects = _likely(columns, _METADATA_NAMES)
    used |= set() if objects is None else {objects.name}
    others = [column for column in (*columns.by_name.values(), *columns.levels) if column.name not in used]
    return ItemRows(columns.length, ids, found_vector, found_text, others, objects)


def rows_of_arrays(
    ids: ArrayLike,
    vectors: ArrayLike | None,
    *,
    texts: ArrayLike | None,
    metadata: FrameLike | Sequence[Any] | None,
) -> ItemRows:
    """The same of arrays, all of one length."""
    own = column_of("ids", ids)
    found_vector = None if vectors is None else _rows_of_vectors(vectors)
    found_text = None if texts is None else column_of("texts", texts)
    columns: Sequence[Column] = []
    objects: Column | None = None
    if isinstance(metadata, (list, tuple)) or getattr(getattr(metadata, "dtype", None), "kind", None) == "O":
        objects = column_of("metadata", metadata)
    elif metadata is not None:
        columns = list(columns_of(metadata).by_name.values())
    if found_vector is None and found_text is None:
        raise InvalidValueError("items need vectors or texts")
    for one in (found_vector, found_text, objects, *columns):
        if one is not None and one.length != own.length:
            raise InvalidValueError(f"there are {own.length} ids, and {one.length} of {one.name}")
    return ItemRows(own.length, own, found_vector, found_text, columns, objects)


def _rows_of_vectors(vectors: Any) -> Column:
    shape = getattr(vectors, "shape", None)
    if shape is not None and len(shape) == 2:
        values = vectors.to_numpy() if hasattr(vectors, "iloc") else vectors
        return Column("vectors", shape[0], lambda start, stop: list(values[start:stop]))
    if shape is not None and len(shape) != 1:
        raise InvalidValueError(f"an array of vectors has two dimensions, not the shape {tuple(shape)}", field="vectors")
    return column_of("vectors", vectors)


def _id_column(columns: Columns, id: str | None) -> Column:
    if id is not None:
        return columns.named(id)
    found = _likely(columns, _ID_NAMES) or columns.index
    if found is None:
        raise InvalidValueError(f"which column has the ids (id=…; id='index' for an index)? There is: {', '.join(columns.by_name)}")
    return found


def _vector_columns(columns: Columns, vector: str | Sequence[str] | None) -> Column | list[Column] | None:
    if vector is None:
        return _likely(columns, _VECTOR_NAMES)
    if not isinstance(vector, str):
        return [columns.named(name) for name in vector]
    if vector in columns.by_name or "*" not in vector:
        return columns.named(vector)
    pattern = re.compile(".*".join(map(re.escape, vector.split("*"))))
    found = [column for name, column in columns.by_name.items() if pattern.fullmatch(name)]
    if not found:
        raise InvalidValueError(f"no column fits {vector!r}; there is: {', '.join(columns.by_name)}")
    return found


def _likely(columns: Columns, names: Sequence[str]) -> Column | None:
    by_lower = {name.lower(): column for name, column in reversed([*columns.by_name.items()])}
    return next((by_lower[name] for name in names if name in by_lower), None)
