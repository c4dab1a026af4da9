"""What the documents of a store have in the fields of their ``meta``, as they are gone through."""

from __future__ import annotations

import json
from typing import Any

from .filters import META

_TYPES = {bool: "boolean", int: "long", float: "float", str: "keyword", list: "array", dict: "object"}


def bare(field: str) -> str:
    """A field's name without the prefix that filters have."""
    return field.removeprefix(META)


class FieldTypes:
    """Which fields there are, and of which types."""

    def __init__(self) -> None:
        self._types: dict[str, str] = {}

    def add(self, meta: dict[str, Any]) -> None:
        """Takes one document's ``meta``."""
        for field, value in meta.items():
            if value is not None:
                self._types.setdefault(field, _TYPES.get(type(value), "object"))

    def result(self) -> dict[str, dict[str, str]]:
        """A type for each field."""
        return {field: {"type": kind} for field, kind in self._types.items()}


class FieldRange:
    """The least and the greatest value of a field."""

    def __init__(self, field: str) -> None:
        self._field = bare(field)
        self._least: Any = None
        self._greatest: Any = None

    def add(self, meta: dict[str, Any]) -> None:
        """Takes one document's ``meta``."""
        value = meta.get(self._field)
        if value is None or isinstance(value, (list, dict)):
            return
        if self._least is None or value < self._least:
            self._least = value
        if self._greatest is None or value > self._greatest:
            self._greatest = value

    def result(self) -> dict[str, Any]:
        """None for both where no document has the field."""
        return {"min": self._least, "max": self._greatest}


class FieldValues:
    """The different values of a field; 1, 1.0, "1" and True are four."""

    def __init__(self, field: str) -> None:
        self._field = bare(field)
        self._values: dict[tuple[str, str], Any] = {}

    def add(self, meta: dict[str, Any]) -> None:
        """Takes one document's ``meta``; the elements of a list count each."""
        value = meta.get(self._field)
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                self._values.setdefault((type(one).__name__, json.dumps(one, sort_keys=True)), one)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._values)

    def page(self, search_term: str | None, start: int, size: int) -> tuple[list[Any], int]:
        """Values from ``start`` on, by their text, of those that contain a term; and how many those are."""
        texts = sorted((str(value), kind, value) for (kind, _), value in self._values.items())
        found = [value for text, _, value in texts if search_term is None or search_term.lower() in text.lower()]
        return found[start : start + size], len(found)
