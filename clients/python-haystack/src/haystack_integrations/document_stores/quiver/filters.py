"""Haystack's filters as Quiver's."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from haystack.errors import FilterError

from quiver_client import InvalidValueError
from quiver_client.values import FILTERS

META = "meta."
# Of a document, but not of the metadata that Quiver filters by.
_NOT_FILTERED = {"id", "content", "blob", "score", "embedding", "sparse_embedding"}
# Passes nothing: it is there and is not.
_NOTHING = {"$and": [{"meta": {"$exists": True}}, {"meta": {"$exists": False}}]}

# A date that the service compares as a time; Haystack takes more forms, which are compared as texts.
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")

Translated = dict[str, Any]


def filters_from_haystack(filters: Mapping[str, Any] | None) -> Translated | None:
    """The same filters for Quiver; None where they restrict nothing.

    ``FilterError`` for filters that are not well formed, and for fields other than metadata. Texts are compared by ``>``
    and its kin where they are ISO 8601 dates, and then as times; without an offset, as times in UTC.
    """
    if not filters:
        return None
    return _comparison(filters) if "field" in filters else _logic(filters)


def _logic(filters: Mapping[str, Any]) -> Translated:
    for key in ("operator", "conditions"):
        if key not in filters:
            raise FilterError(f"{key!r} is missing in {dict(filters)}")
    operator = filters["operator"]
    parts = [part for condition in filters["conditions"] if (part := filters_from_haystack(condition)) is not None]
    if not parts:
        raise FilterError(f"{operator} of no conditions")
    if operator == "AND":
        return {"$and": parts}
    if operator == "OR":
        return {"$or": parts}
    if operator == "NOT":
        return {"$not": {"$and": parts}}
    raise FilterError(f"unknown operator {operator!r}: there are AND, OR and NOT")


def _comparison(condition: Mapping[str, Any]) -> Translated:
    for key in ("operator", "value"):
        if key not in condition:
            raise FilterError(f"{key!r} is missing in {dict(condition)}")
    translate = _COMPARISONS.get(condition["operator"])
    if translate is None:
        raise FilterError(f"unknown operator {condition['operator']!r}: there are {', '.join(_COMPARISONS)}")
    return translate(path_of(condition["field"]), condition["value"])


def path_of(field: str) -> str:
    """Where a field of a document's metadata is in an item's."""
    if field in _NOT_FILTERED:
        raise FilterError(f"Quiver filters by metadata, not by {field!r}")
    return field if field.startswith(META) else META + field


def _equal(path: str, value: Any) -> Translated:
    if value is None:
        return {"$or": [{path: {"$exists": False}}, {path: {"$eq": None}}]}
    return {path: {"$eq": _json(value)}}


def _ordered(operator: str) -> Callable[[str, Any], Translated]:
    def translate(path: str, value: Any) -> Translated:
        if value is None:
            return _NOTHING
        bound = _json(value)
        if isinstance(bound, bool) or not isinstance(bound, (int, float, str)):
            raise FilterError(f"{path} can't be compared with {value!r} by its order")
        if isinstance(bound, str):
            try:
                datetime.fromisoformat(bound.replace("Z", "+00:00"))
            except ValueError as error:
                raise FilterError(f"texts are ordered as ISO 8601 dates only, and {value!r} is none") from error
            if _DATE.fullmatch(bound):
                return {path: {operator: {"$date": bound}}}
        return {path: {operator: bound}}

    return translate


def _listed(operator: str) -> Callable[[str, Any], Translated]:
    def translate(path: str, value: Any) -> Translated:
        if not isinstance(value, list):
            raise FilterError(f"in and not in need a list, not {value!r}")
        listed = [_json(one) for one in value]
        if None not in listed:
            return {path: {operator: listed}}
        # What is missing is None.
        found = {"$or": [{path: {"$exists": False}}, {path: {"$in": listed}}]}
        return found if operator == "$in" else {"$not": found}

    return translate


def _json(value: Any) -> Any:
    """As the client writes the same value in metadata."""
    try:
        return FILTERS.value_of(value, "value")
    except InvalidValueError as error:
        raise FilterError(str(error)) from error


_COMPARISONS: dict[str, Callable[[str, Any], Translated]] = {
    "==": _equal,
    "!=": lambda path, value: {"$not": _equal(path, value)},
    ">": _ordered("$gt"),
    ">=": _ordered("$gte"),
    "<": _ordered("$lt"),
    "<=": _ordered("$lte"),
    "in": _listed("$in"),
    "not in": _listed("$nin"),
}
