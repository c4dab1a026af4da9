"""Columns of frames of pandas and polars, tables of Arrow, and mappings of lists, all in one way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import InvalidValueError
from .values import FLOAT32_BYTES, is_nothing, named, shortest_float

_INDEX = "index"


@dataclass(frozen=True)
class Column:
    """A column of which parts can be taken, with the name that errors have for it."""

    name: str
    length: int
    take: Callable[[int, int], Sequence[Any]]
    is_checked: bool = False
    """Whether every value of it can be sent: numbers, truth values and moments of a typed column."""
    array: Callable[[int, int], Any] | None = None
    """The same part as an array of numpy, of a column of numbers that is one."""


@dataclass(frozen=True)
class Columns:
    """All columns of a table, by their names; ``index`` is the index of a frame of pandas that does not merely count."""

    by_name: Mapping[str, Column]
    length: int
    index: Column | None = None
    any_index: Column | None = None
    """The index in any case."""
    levels: Sequence[Column] = ()
    """What has a name in the index, and is no column: pandas has such a part of a table there as well as among the columns."""

    def named(self, name: object) -> Column:
        """A column, or the index. ``InvalidValueError`` where there is none."""
        found = self.by_name.get(name) if isinstance(name, str) else self.by_name.get(str(name))
        if found is None and self.any_index is not None and name in (self.any_index.name, _INDEX):
            found = self.any_index
        if found is None:
            found = next((level for level in self.levels if level.name == str(name)), None)
        if found is None:
            raise InvalidValueError(f"there is no column {name!r}; there is: {', '.join(self.by_name)}")
        return found


def columns_of(table: Any) -> Columns:
    """The columns. ``InvalidValueError`` for what has none."""
    if isinstance(table, Mapping):
        names = [_name(name) for name in table]
        _refuse_doubles(names)
        return _checked({name: _of_values(name, values) for name, values in zip(names, table.values(), strict=True)})
    if hasattr(table, "iloc") and hasattr(table, "columns"):
        return _of_pandas(table)
    if hasattr(table, "collect") and hasattr(table, "lazy"):
        raise InvalidValueError("a lazy frame has no rows yet: give what collect() answers")
    if hasattr(table, "get_column") and hasattr(table, "columns"):
        return _checked({name: _of_polars(name, table.get_column(name)) for name in table.columns})
    if hasattr(table, "column_names") and hasattr(table, "column"):
        names = list(table.column_names)
        _refuse_doubles(names)
        return _checked({name: _of_arrow(name, table.column(name)) for name in names})
    raise InvalidValueError(f"is {named(table)}, not a frame of pandas or polars, a table of Arrow, or a mapping of columns")


def column_of(name: str, values: Any) -> Column:
    """A column of values: a list, an array, a series, an index. ``InvalidValueError`` for what has no length."""
    if type(values).__module__.startswith("pandas") and hasattr(values, "iloc"):
        return _of_series(name, values)
    if hasattr(values, "get_column") or hasattr(values, "columns"):
        raise InvalidValueError(f"is {named(values)}, of which one column is wanted", field=name)
    return _of_values(name, values)


def _checked(by_name: dict[str, Column]) -> Columns:
    lengths = {column.length for column in by_name.values()}
    if len(lengths) > 1:
        counts = ", ".join(f"{name} {column.length}" for name, column in by_name.items())
        raise InvalidValueError(f"columns have different lengths: {counts}")
    return Columns(by_name, next(iter(lengths), 0))


def _of_pandas(frame: Any) -> Columns:
    names = [_name(name) for name in frame.columns]
    _refuse_doubles(names)
    by_name = {name: _of_series(name, frame.iloc[:, i]) for i, name in enumerate(names)}
    index = frame.index
    levels = [
        _of_level(_name(name), index.get_level_values(i))
        for i, name in enumerate(index.names)
        if name is not None and _name(name) not in by_name
    ]
    if getattr(index, "nlevels", 1) > 1:
        return Columns(by_name, len(frame), levels=levels)
    name = _INDEX if index.name is None else _name(index.name)
    column = Column(name, len(frame), lambda start, stop: index[start:stop].tolist())
    counts_rows = type(index).__name__ == "RangeIndex" and index.name is None
    # Of frames that were put together, each with its own count of rows.
    repeats_counts = index.name is None and index.dtype.kind in "iu" and not index.is_unique
    return Columns(by_name, len(frame), index=None if counts_rows or repeats_counts else column, any_index=column, levels=levels)


def _of_level(name: str, values: Any) -> Column:
    return Column(name, len(values), lambda start, stop: values[start:stop].tolist())


def _of_series(name: str, series: Any) -> Column:
    arrow = getattr(series.dtype, "pyarrow_dtype", None)
    if arrow is not None and str(arrow) != "float" and _shortener(arrow) is not None:
        # pandas makes objects of Python of them, whose numbers have 64 bits.
        return _of_arrow(name, series.array.__arrow_array__())
    kind = getattr(series.dtype, "kind", "O")
    is_numpy = type(series.dtype).__module__.startswith("numpy")
    array = (lambda start, stop: series.iloc[start:stop].to_numpy()) if is_numpy and kind in "fiu" else None
    categories = getattr(series.dtype, "categories", None)
    take = _taken(getattr(categories, "dtype", series.dtype), lambda start, stop: series.iloc[start:stop].tolist())
    return Column(name, len(series), take, is_checked=kind in "fiubM", array=array)


def _taken(dtype: Any, take: Callable[[int, int], list[Any]]) -> Callable[[int, int], Sequence[Any]]:
    """Values of a column, of which those of 32 bits are the shortest decimals (see ``shortest_float``)."""
    if getattr(dtype, "kind", None) != "f" or getattr(dtype, "itemsize", 0) != FLOAT32_BYTES:
        return take
    return lambda start, stop: _shortest(take(start, stop))


def _array_of(column: Any) -> Callable[[int, int], Any] | None:
    """Parts of a column of numbers of polars or Arrow as arrays; None where a number is missing."""
    missing = column.null_count
    if (missing() if callable(missing) else missing) > 0:
        return None
    return lambda start, stop: column.slice(start, stop - start).to_numpy()


def _of_float32(name: str, column: Any, to_list: Callable[[Any], list[Any]]) -> Column:
    """A column of polars or Arrow of numbers of 32 bits."""
    return Column(
        name,
        len(column),
        lambda start, stop: _shortest(to_list(column.slice(start, stop - start))),
        is_checked=True,
        array=_array_of(column),
    )


def _shortest(values: Sequence[Any]) -> list[Any]:
    return [one if is_nothing(one) else shortest_float(one) for one in values]


def _shortener(kind: Any) -> Callable[[Any], Any] | None:
    """Makes numbers of 32 bits within values of a type of Arrow or polars the shortest decimals; None where it has none."""
    if str(kind) in ("float", "Float32"):
        return lambda one: one if is_nothing(one) else shortest_float(one)
    # In Arrow, the storage of an extension, the values of a dictionary, and of lists; in polars, those of lists and arrays.
    within = next((getattr(kind, name) for name in ("storage_type", "item_type", "value_type", "inner") if hasattr(kind, name)), None)
    if hasattr(kind, "item_type"):
        key, item = _shortener(kind.key_type) or _same, _shortener(within) or _same
        has_any = key is not _same or item is not _same
        return (lambda pairs: None if pairs is None else [(key(name), item(one)) for name, one in pairs]) if has_any else None
    if within is not None:
        shorten = _shortener(within)
        if shorten is None or str(kind).startswith(("dictionary<", "run_end_encoded<", "extension<")):
            return shorten
        return lambda values: None if values is None else [shorten(one) for one in values]
    fields = list(kind) if str(kind).startswith("struct<") else getattr(kind, "fields", None)
    if not isinstance(fields, (list, tuple)):
        return None
    by_name = {field.name: found for field in fields if (found := _shortener(getattr(field, "dtype", None) or field.type)) is not None}
    if not by_name:
        return None
    return lambda one: None if one is None else {name: by_name.get(name, _same)(value) for name, value in one.items()}


def _same(value: Any) -> Any:
    return value


def _of_polars(name: str, series: Any) -> Column:
    is_number = series.dtype.is_numeric() or series.dtype.is_temporal()
    if str(series.dtype) == "Float32":
        return _of_float32(name, series, series.__class__.to_list)
    if str(getattr(series.dtype, "inner", None)) == "Float32":
        # Arrays of their own type, and not lists of Python's numbers.
        return Column(
            name,
            len(series),
            lambda start, stop: [None if one is None else one.to_numpy() for one in series.slice(start, stop - start)],
        )
    if getattr(series.dtype, "time_unit", None) == "ns":
        # Python's own moments end at microseconds.
        return Column(name, len(series), lambda start, stop: list(series.slice(start, stop - start).to_numpy()), is_checked=True)
    shorten = _shortener(series.dtype)
    if shorten is not None:
        return Column(name, len(series), lambda start, stop: [shorten(one) for one in series.slice(start, stop - start).to_list()])
    return Column(name, len(series), lambda start, stop: series.slice(start, stop - start).to_list(), is_checked=is_number)


def _of_arrow(name: str, column: Any) -> Column:
    kind = str(column.type)
    if kind == "float":
        return _of_float32(name, column, column.__class__.to_pylist)
    if kind.startswith(("list<", "large_list<", "fixed_size_list<")) and _is_of_numbers(column):
        # Arrays of their own type, and not lists of Python's numbers.
        return Column(name, len(column), lambda start, stop: list(column.slice(start, stop - start).to_numpy(zero_copy_only=False)))
    shorten = _shortener(column.type)

    def listed(start: int, stop: int) -> list[Any]:
        values = column.slice(start, stop - start).to_pylist()
        return values if shorten is None else [shorten(one) for one in values]

    if kind.startswith("map<"):
        # As lists of pairs otherwise.
        return Column(name, len(column), lambda start, stop: [None if one is None else dict(one) for one in listed(start, stop)])
    return Column(name, len(column), listed)


def _is_of_numbers(column: Any) -> bool:
    """Whether lists are of numbers that are the same in numpy: of whole ones of which one is missing, it makes floats."""
    of = str(column.type.value_type)
    if of in ("halffloat", "float", "double"):
        return True
    return of.lstrip("u").startswith("int") and all(chunk.flatten().null_count == 0 for chunk in getattr(column, "chunks", [column]))


def _of_values(name: str, values: Any) -> Column:
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__len__"):
        raise InvalidValueError(f"is {named(values)}, not a column of values", field=name)
    kind = getattr(getattr(values, "dtype", None), "kind", None)
    if kind is not None and hasattr(values, "__getitem__"):
        is_flat = getattr(values, "ndim", 1) == 1
        # Moments of numpy are read one by one: as a list they would be counts.
        as_list = is_flat and kind in "fiubOUS" and hasattr(values, "tolist")
        return Column(
            name,
            len(values),
            _taken(values.dtype, lambda start, stop: values[start:stop].tolist())
            if as_list
            else lambda start, stop: list(values[start:stop]),
            is_checked=is_flat and kind in "fiub",
            array=(lambda start, stop: values[start:stop]) if is_flat and kind in "fiu" else None,
        )
    listed = values if isinstance(values, (list, tuple)) or hasattr(values, "__getitem__") else list(values)
    return Column(name, len(listed), lambda start, stop: list(listed[start:stop]))


def _name(name: object) -> str:
    return name if isinstance(name, str) else str(name)


def _refuse_doubles(names: Sequence[str]) -> None:
    double = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if double is not None:
        raise InvalidValueError(f"two columns are named {double!r}")
