"""LangChain's structured queries as Quiver's filters."""

from __future__ import annotations

import re
from typing import Any

from langchain_core.structured_query import Comparator, Comparison, Operation, Operator, StructuredQuery, Visitor

_COMPARATORS = {
    Comparator.EQ: "$eq",
    Comparator.NE: "$ne",
    Comparator.GT: "$gt",
    Comparator.GTE: "$gte",
    Comparator.LT: "$lt",
    Comparator.LTE: "$lte",
    Comparator.IN: "$in",
    Comparator.NIN: "$nin",
    # A scalar equals an array that contains it.
    Comparator.CONTAIN: "$eq",
}


# A date that the service compares as a time.
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")

_OF_NONE = {"$eq", "$ne", "$in", "$nin"}


def _with_none(attribute: str, operator: str, value: Any) -> dict[str, Any]:
    """A condition in which None stands for what is missing, too."""
    is_list = isinstance(value, (list, tuple, set))
    if operator not in _OF_NONE or (None not in value if is_list else value is not None):
        return {attribute: {operator: value}}
    listed = list(value) if is_list else [value]
    found = {"$or": [{attribute: {"$exists": False}}, {attribute: {"$in": listed}}]}
    return {"$not": found} if operator in ("$ne", "$nin") else found


def _like(attribute: str, value: Any) -> dict[str, Any]:
    """A pattern of SQL where there is a ``%``, else a part of the text; whatever the cases."""
    if not isinstance(value, str):
        raise TypeError(f"like needs a text, not {value!r}")
    if "%" not in value:
        return {attribute: {"$contains": value, "case": "fold"}}
    pattern = re.sub(r"[\\*?]", r"\\\g<0>", value).replace("%", "*").replace("_", "?")
    return {attribute: {"$like": pattern, "case": "fold"}}


class QuiverTranslator(Visitor):
    """Translates the queries of a ``SelfQueryRetriever``."""

    allowed_comparators = (*_COMPARATORS, Comparator.LIKE)
    allowed_operators = (Operator.AND, Operator.OR, Operator.NOT)

    def visit_operation(self, operation: Operation) -> dict[str, Any]:
        """``and``, ``or`` and ``not``; ``not`` of several means none of them."""
        parts = [part.accept(self) for part in operation.arguments]
        if operation.operator == Operator.NOT:
            return {"$not": parts[0] if len(parts) == 1 else {"$or": parts}}
        return {"$and" if operation.operator == Operator.AND else "$or": parts}

    def visit_comparison(self, comparison: Comparison) -> dict[str, Any]:
        """One attribute compared with one value; dates are times, and metadata hold them as ISO 8601 texts.

        None equals an attribute that is None or missing, also within the list of ``in`` and ``nin``.
        """
        if comparison.attribute.startswith("$"):
            raise ValueError(f"a key of metadata that begins with $ can't be filtered by: {comparison.attribute!r}")
        value = comparison.value
        if comparison.comparator == Comparator.LIKE:
            return _like(comparison.attribute, value)
        operator = _COMPARATORS[comparison.comparator]
        if isinstance(value, dict) and "date" in value:
            value = value["date"]
            if isinstance(value, str) and _DATE.fullmatch(value):
                value = {"$date": value}
        return _with_none(comparison.attribute, operator, value)

    def visit_structured_query(self, structured_query: StructuredQuery) -> tuple[str, dict[str, Any]]:
        """The text to search by, and the arguments of the search."""
        if structured_query.filter is None:
            return structured_query.query, {}
        return structured_query.query, {"filter": structured_query.filter.accept(self)}
