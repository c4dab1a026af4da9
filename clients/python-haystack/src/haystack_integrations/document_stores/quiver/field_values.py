"""What the documents of a store have in the fields of their ``meta``: as the service counts it, or as they are gone through."""

from __future__ import annotations

import json
from typing import Any

from quiver_client.models import Facet

from .filters import META

VALUES_MAX = 1000
"""Values of a field that the service tells; of more, it says so."""
FIELDS_MAX = 20
"""Fields that it counts for one request."""
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
    """The least and the greatest value of a field; of lists, which are passed over, the service counts the elements."""

    def __init__(self, field: str) -> None:
        self._field = bare(field)
        self._least: Any = None
        self._greatest: Any = None

    @property
    def request(self) -> dict[str, Any]:
        """What asks the service for both, of numbers."""
        return {"field": META + self._field, "ops": ["min", "max"]}

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
    """The different values of a field; 1, "1" and True are three. Objects are none, and the elements of a list are one each."""

    def __init__(self, field: str) -> None:
        self._field = bare(field)
        self._values: dict[tuple[str, str], Any] = {}

    @property
    def request(self) -> dict[str, Any]:
        """What asks the service for them, as many as it tells."""
        return {"field": META + self._field, "limit": VALUES_MAX, "order": "value"}

    def add_facet(self, facet: Facet) -> None:
        """Takes what the service answers."""
        for one in facet.values:
            self._add(one.value)

    def add(self, meta: dict[str, Any]) -> None:
        """Takes one document's ``meta``."""
        value = meta.get(self._field)
        for one in value if isinstance(value, list) else [value]:
            self._add(one)

    def _add(self, value: Any) -> None:
        if value is not None and not isinstance(value, (list, dict)):
            self._values.setdefault((type(value).__name__, json.dumps(value)), value)

    def page(self, search_term: str | None, start: int, size: int) -> tuple[list[Any], int]:
        """Values from ``start`` on, by their text, of those that contain a term; and how many those are."""
        texts = sorted((str(value), kind, value) for (kind, _), value in self._values.items())
        found = [value for text, _, value in texts if search_term is None or search_term.lower() in text.lower()]
        return found[start : start + size], len(found)
