"""LlamaIndex's metadata filters as Quiver's."""

from __future__ import annotations

from typing import Any

from llama_index.core.vector_stores.types import FilterCondition, FilterOperator, MetadataFilter, MetadataFilters

from .nodes import REF_DOC_ID

# Names that vector stores of LlamaIndex have for the document that a node is of.
_OF_DOCUMENT = {"ref_doc_id", "doc_id", "document_id"}
_PLAIN = {
    FilterOperator.GT: "$gt",
    FilterOperator.GTE: "$gte",
    FilterOperator.LT: "$lt",
    FilterOperator.LTE: "$lte",
    FilterOperator.EQ: "$eq",
    FilterOperator.NE: "$ne",
    FilterOperator.IN: "$in",
    FilterOperator.NIN: "$nin",
    # A scalar equals an array that contains it, and one of a list an array that contains one of them.
    FilterOperator.CONTAINS: "$eq",
    FilterOperator.ANY: "$in",
}
_WITHIN_TEXTS = {FilterOperator.TEXT_MATCH: {}, FilterOperator.TEXT_MATCH_INSENSITIVE: {"case": "fold"}}
_OF_VALUES = {FilterOperator.EQ, FilterOperator.NE, FilterOperator.IN, FilterOperator.NIN}
_WITH_LIST = {FilterOperator.IN, FilterOperator.NIN, FilterOperator.ANY, FilterOperator.ALL}


def filters_from_llama_index(filters: MetadataFilters | None) -> dict[str, Any] | None:
    """The same filters for Quiver; None where they restrict nothing.

    ``ValueError`` for what Quiver has no counterpart of: keys that begin with ``$``, and ``text_match`` with other values
    than texts.
    """
    if filters is None or not filters.filters:
        return None
    parts = [(filters_from_llama_index(part) or {}) if isinstance(part, MetadataFilters) else _condition(part) for part in filters.filters]
    condition = filters.condition or FilterCondition.AND
    if condition == FilterCondition.NOT:
        # None of them.
        return {"$not": {"$or": parts}}
    if len(parts) == 1:
        return parts[0]
    return {"$and" if condition == FilterCondition.AND else "$or": parts}


def _condition(part: MetadataFilter) -> dict[str, Any]:
    if part.key.startswith("$"):
        raise ValueError(f"Quiver can't filter by a key that begins with $: {part.key!r}")
    key = REF_DOC_ID if part.key in _OF_DOCUMENT else part.key
    operator, value = part.operator, part.value
    if operator == FilterOperator.IS_EMPTY:
        return {"$or": [{key: {"$exists": False}}, {key: {"$in": [None, "", []]}}]}
    if operator in _WITH_LIST and not isinstance(value, list):
        raise ValueError(f"{operator.value!r} on {part.key!r} needs a list, not {value!r}")
    if operator == FilterOperator.ALL:
        return {"$and": [{key: {"$eq": one}} for one in value]} if value else {key: {"$exists": True}}  # type: ignore[union-attr]
    if operator in _WITHIN_TEXTS:
        if not isinstance(value, str):
            raise ValueError(f"{operator.value!r} on {part.key!r} needs a text, not {value!r}")
        return {key: {"$contains": value, **_WITHIN_TEXTS[operator]}}
    name = _PLAIN[operator]
    if operator in _OF_VALUES:
        return _of_values(key, operator, value)
    return {key: {name: value}}


def _of_values(key: str, operator: FilterOperator, value: Any) -> dict[str, Any]:
    """A comparison in which a missing value, and None, equals nothing, not even None: as LlamaIndex's own store has it."""
    wanted = [one for one in (value if operator in _WITH_LIST else [value]) if one is not None]
    found = {key: {"$eq": wanted[0]}} if operator not in _WITH_LIST and wanted else {key: {"$in": wanted}}
    return found if operator in (FilterOperator.EQ, FilterOperator.IN) else {"$not": found}


def combined(*filters: dict[str, Any] | None) -> dict[str, Any] | None:
    """What passes all of them; None where none restricts anything."""
    given = [one for one in filters if one is not None]
    return {"$and": given} if len(given) > 1 else next(iter(given), None)
