"""What is sent besides numbers and texts: items, and what stands for one in a call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

from .ids import ExternalId
from .search_query import BulkSearchQuery
from .vectors import VectorLike

if TYPE_CHECKING:
    from .models import KeyScope

__all__ = ["KEPT", "BulkSearchQueryLike", "Filters", "Item", "ItemLike", "KeyScopeLike", "Metadata"]

Metadata: TypeAlias = Mapping[Any, Any]
"""An object of names and values. Values of numpy and pandas, dates, decimals, sets and the like become those of JSON."""

Filters: TypeAlias = Mapping[str, Any]
"""Pairs that must all match. A scalar matches an equal one, or an array that contains it; an object of operators
(``$eq $ne $gt $gte $lt $lte $in $nin $exists $empty $between
$prefix $contains $like $all $any $size $elem_match $geo_radius $geo_box $geo_polygon``;
``$prefix $contains $like`` with ``"case": "fold"`` beside them, too) compares; ``{"$date": ...}`` in place of a value
asks for a time; ``$and``, ``$or`` and ``$not`` take filters; ``$id`` takes external ids, ``$expires_at`` and
``$updated`` bounds, ``$text`` ``{"query": ..., "match": "any" or "all", "fields": [...]}``; a dotted key reaches into
nested objects."""

KEPT: Any = "KEPT"
"""In the place of a value that None would clear: what is stored stays."""


@dataclass(frozen=True)
class Item:
    """Something to store. Needs a vector or a text; where it has both, the text serves keyword search."""

    external_id: ExternalId
    vector: VectorLike | None = None
    text: str | None = None
    metadata: Metadata | None = None
    """Left out at an update, what is stored stays; ``{}`` clears it."""
    expires_at: datetime | str | None = KEPT
    """From then on the item is gone; None: at no time of its own. Left out, what is stored stays."""
    if_version: int | None = None
    """Only if the stored item has this version."""
    only_if: Literal["absent", "present"] | None = None
    """Only if there is no such item, or only if there is one."""
    vector_model: str | None = None
    """The model that the vector is of: another than the collection's is refused."""


ItemLike: TypeAlias = Item | Mapping[str, Any]
"""An item, or a mapping with its fields as the API names them."""

BulkSearchQueryLike: TypeAlias = BulkSearchQuery | Mapping[str, Any] | VectorLike
"""One of several searches, or only its vector or text."""

KeyScopeLike: TypeAlias = Union["KeyScope", Mapping[str, Any]]
"""A scope, or a mapping with its fields as the API names them."""
