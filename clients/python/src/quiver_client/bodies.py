"""Bodies of requests, from what callers give."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from .errors import InvalidValueError
from .ids import CallIds, id_text
from .models import BulkSearchQuery, BulkSearchQueryLike, Filters, Item, ItemLike, KeyScope, KeyScopeLike, Metadata
from .sent import KEPT
from .values import FILTERS, METADATA, checked_text, is_nothing, named
from .vectors import VectorLike, encode_vector

_CONDITIONS = {"if_version", "only_if"}
_ITEM_HINTS = {
    "DataFrame": "upsert_frame",
    "LazyFrame": "upsert_frame of what collect() gives",
    "ndarray": "upsert_arrays",
    "Table": "upsert_frame",
}


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None, which the service takes for left out anyway."""
    return {name: value for name, value in fields.items() if value is not None}


def listed(elements: Iterable[Any] | None, field: str) -> list[Any] | None:
    """A list of any iterable; ``InvalidValueError`` for what is one element."""
    if elements is None:
        return None
    if isinstance(elements, (str, bytes, Mapping)) or not isinstance(elements, Iterable):
        raise InvalidValueError(f"is {named(elements)}, not a list", field=field)
    return list(elements)


def embedding_body(embedding: Mapping[str, Any] | str | None) -> dict[str, Any] | None:
    """How texts of a collection become vectors; a text is the model's name."""
    if embedding is None:
        return None
    return {"model": embedding} if isinstance(embedding, str) else given(**embedding)


def encoded(vector: VectorLike | None, field: str = "vector") -> str | None:
    """A vector as it goes over the wire."""
    if vector is None:
        return None
    try:
        return encode_vector(vector)
    except InvalidValueError as error:
        raise error.below(field) from None


def examples_body(examples: Iterable[Mapping[str, Any]] | None, field: str) -> list[dict[str, Any]] | None:
    """Examples of a search as the API takes them, each an id, a vector or a text."""
    if examples is None:
        return None
    if isinstance(examples, (Mapping, str)):
        raise InvalidValueError(
            f"is {named(examples)}, not a list such as [{{'id': 'a'}}, {{'vector': [0.5, 1]}}, {{'text': 'b'}}]", field=field
        )
    return [_example_body(example, f"{field}[{i}]") for i, example in enumerate(examples)]


def _example_body(example: Mapping[str, Any], field: str) -> dict[str, Any]:
    if not isinstance(example, Mapping):
        raise InvalidValueError(
            f"is {named(example)}, not a mapping such as {{'id': 'a'}}, {{'vector': [0.5, 1]}} or {{'text': 'b'}}", field=field
        )
    body = given(**example)
    if "id" in body:
        body["id"] = id_text(body["id"])
    if "vector" in body:
        body["vector"] = encoded(body["vector"], f"{field}.vector")
    return body


def legs_body(legs: Iterable[Mapping[str, Any]] | None, field: str = "legs") -> list[dict[str, Any]] | None:
    """Lists of a search that become one, each by a text, a vector, keywords or examples."""
    if legs is None:
        return None
    if isinstance(legs, (Mapping, str)):
        raise InvalidValueError(f"is {named(legs)}, not a list such as [{{'text': 'a'}}, {{'query_text': 'b'}}]", field=field)
    return [_leg_body(leg, f"{field}[{i}]") for i, leg in enumerate(legs)]


def _leg_body(leg: Mapping[str, Any], field: str) -> dict[str, Any]:
    if not isinstance(leg, Mapping):
        raise InvalidValueError(f"is {named(leg)}, not a mapping such as {{'text': 'a', 'weight': 2}}", field=field)
    body = given(**leg)
    if "vector" in body:
        body["vector"] = encoded(body["vector"], f"{field}.vector")
    if "filters" in body:
        body["filters"] = filters_body(body["filters"], f"{field}.filters")
    like = body.get("like")
    if isinstance(like, Mapping):
        lists = {name: examples_body(like.get(name), f"{field}.like.{name}") for name in ("positives", "negatives")}
        body["like"] = given(**{**like, **lists, "id": None if like.get("id") is None else id_text(like["id"])})
    return body


def metadata_body(metadata: Metadata | None, field: str = "metadata") -> dict[str, Any] | None:
    """Metadata, with the values of numpy, pandas and the like as JSON has them; what is no value (NaN) is null."""
    return None if metadata is None else METADATA.object_of(metadata, field)


def filters_body(filters: Filters | None, field: str = "filters") -> dict[str, Any] | None:
    """Filters, with values as they are in metadata. ``InvalidValueError`` for NaN and the like, which nothing equals."""
    return None if filters is None else FILTERS.object_of(filters, field)


def text_body(text: object, field: str = "text") -> str | None:
    """A text; what is no value (NaN) is none."""
    if isinstance(text, str):
        try:
            return checked_text(str(text))
        except InvalidValueError as error:
            raise error.below(field) from None
    if is_nothing(text):
        return None
    raise InvalidValueError(f"is {named(text)}, not a text", field=field)


def moment(until: datetime | Mapping[str, Iterable[int]] | None) -> Any:
    """What a restore goes to: a time, or places of logs."""
    if until is None:
        return None
    if isinstance(until, datetime):
        if is_nothing(until) or until.tzinfo is None:
            raise InvalidValueError("a moment needs a time zone", field="until")
        return until.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"positions": {name: [*places] for name, places in until.items()}}


def json_bytes(body: object) -> bytes:
    """A body as compact JSON; ``ValueError`` for NaN and infinity, which JSON has not. Numbers of numpy are numbers, as in metadata."""
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_plain).encode()


def _plain(value: object) -> Any:
    return FILTERS.value_of(value, "a value")


def item_body(item: ItemLike, position: int | None = None, ids: CallIds | None = None) -> dict[str, Any]:
    """An item as the API takes it; fields of mappings that this version does not know go along.

    ``position`` is its number in the call, ``ids`` those before it. ``InvalidValueError`` names the item and the field.
    """
    external_id: str | None = None
    try:
        fields = item if type(item) is dict else _fields_of(item)
        if "external_id" not in fields:
            raise InvalidValueError("an item needs an external_id")
        given_id = fields["external_id"]
        external_id = id_text(given_id)
        if ids is not None and position is not None:
            ids.note(given_id, external_id, position)
        body: dict[str, Any] = {"external_id": external_id}
        for name, value in fields.items():
            if name == "external_id" or value is KEPT:
                continue
            if value is None:
                body[name] = None
            elif type(value) is str and name == "text":
                body[name] = value if value.isascii() else text_body(value)
            elif not is_nothing(value):
                body[name] = _field_body(name, value)
            elif name in _CONDITIONS:
                raise InvalidValueError(f"{value} is no version: the item would be written without a condition", field=name)
    except InvalidValueError as error:
        raise error.of_item(position, external_id) from None
    return body


def items_body(items: Iterable[ItemLike]) -> list[dict[str, Any]]:
    """Several items of one call."""
    ids = CallIds()
    return [item_body(item, i, ids) for i, item in enumerate(listed_items(items))]


def listed_items(items: Any) -> Any:
    """The items; ``InvalidValueError`` for what is one item, or a table."""
    hint = _ITEM_HINTS.get(type(items).__name__)
    if hint is not None:
        raise InvalidValueError(f"items are given one by one, not as {named(items)}: use {hint}")
    if isinstance(items, (Item, Mapping, str)):
        raise InvalidValueError(f"this is {'one item' if not isinstance(items, str) else 'a text'}, not several: use upsert")
    return items


def shown_item(item: Any) -> dict[str, Any]:
    """An item that can't be sent, for whoever hears of it; what is no item at all is the one member ``item``."""
    return dict(item) if isinstance(item, Mapping) else vars(item) if isinstance(item, Item) else {"item": item}


def listed_queries(queries: Any) -> Any:
    """The queries; ``InvalidValueError`` for what is one query."""
    if isinstance(queries, (BulkSearchQuery, Mapping, str)):
        raise InvalidValueError(f"this is one query ({named(queries)}), not several: use search", field="queries")
    if getattr(queries, "ndim", 2) == 1 and getattr(getattr(queries, "dtype", None), "kind", "O") in "fiub":
        raise InvalidValueError("this is one vector, not several: use search", field="queries")
    return queries


def _fields_of(item: ItemLike) -> Mapping[str, Any]:
    if isinstance(item, Item):
        return given(**{**vars(item), "expires_at": None}) | unkept(expires_at=item.expires_at)
    if isinstance(item, Mapping):
        return item
    raise InvalidValueError(
        f"is {named(item)}, not an Item or a mapping such as {{'external_id': 'a', 'vector': [0.5, 1], 'metadata': {{}}}}"
    )


def _field_body(name: str, value: Any) -> Any:
    if name == "vector":
        return encoded(value)
    if name == "metadata":
        return METADATA.object_of(value, name)
    if name == "text":
        return text_body(value)
    if name == "expires_at":
        return expiry_body(value).get(name)
    return METADATA.value_of(value, name)


def expiry_body(expires_at: datetime | str | None) -> dict[str, Any]:
    """When an item expires, as the API takes it; nothing for ``KEPT``. ``InvalidValueError`` for a time without a zone."""
    if isinstance(expires_at, datetime):
        if is_nothing(expires_at):
            return {"expires_at": None}
        if expires_at.tzinfo is None:
            raise InvalidValueError("a moment needs a time zone", field="expires_at")
        return {"expires_at": expires_at.isoformat(timespec="milliseconds")}
    if expires_at is not None and not isinstance(expires_at, str):
        raise InvalidValueError(f"is {named(expires_at)}, not a datetime with a time zone or its text", field="expires_at")
    return unkept(expires_at=expires_at)


def unkept(**fields: Any) -> dict[str, Any]:
    """The fields that are not ``KEPT``."""
    return {name: value for name, value in fields.items() if value is not KEPT}


def is_conditional(body: Mapping[str, Any]) -> bool:
    """Whether an item is written only if the stored one is as it says."""
    return body.get("if_version") is not None or body.get("only_if") is not None


def scopes_body(scopes: Iterable[KeyScopeLike]) -> list[dict[str, Any]]:
    """Collections that a key is limited to."""
    return [given(**(vars(scope) if isinstance(scope, KeyScope) else scope)) for scope in scopes]


def query_body(query: BulkSearchQueryLike, position: int, shared: Mapping[str, Any]) -> dict[str, Any]:
    """One of several searches as the API takes it: a mapping, or a bare vector or text with what all of those share."""
    field = f"queries[{position}]"
    if isinstance(query, str):
        return {"text": text_body(query, field), **shared}
    if not isinstance(query, (BulkSearchQuery, Mapping)):
        return {"vector": encoded(query, field), **shared}
    body = given(**vars(query)) if isinstance(query, BulkSearchQuery) else dict(query)
    for name, value in body.items():
        if name == "vector":
            body[name] = encoded(value, f"{field}.vector")
        elif name == "filters":
            body[name] = filters_body(value, f"{field}.filters")
        elif name in ("positives", "negatives"):
            body[name] = examples_body(value, f"{field}.{name}")
        else:
            body[name] = FILTERS.value_of(value, f"{field}.{name}")
    return body


def vectors_body(vectors: Iterable[VectorLike] | None) -> list[str | None] | None:
    """A list of vectors, such as the rows of a matrix."""
    return None if vectors is None else [encoded(vector, f"queries[{i}]") for i, vector in enumerate(vectors)]
