"""Bodies of requests, from what callers give."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from .models import KEPT, BulkSearchQuery, Item, ItemLike, KeyScope, KeyScopeLike
from .vectors import VectorLike, encode_vector


def given(**fields: Any) -> dict[str, Any]:
    """The fields that are not None, which the service takes for left out anyway."""
    return {name: value for name, value in fields.items() if value is not None}


def encoded(vector: VectorLike | None) -> str | None:
    """A vector as it goes over the wire."""
    return None if vector is None else encode_vector(vector)


def moment(until: datetime | Mapping[str, Iterable[int]] | None) -> Any:
    """What a restore goes to: a time, or places of logs."""
    if until is None:
        return None
    if isinstance(until, datetime):
        return until.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"positions": {name: [*places] for name, places in until.items()}}


def json_bytes(body: object) -> bytes:
    """A body as compact JSON; ``ValueError`` for NaN and infinity, which JSON has not."""
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def item_body(item: ItemLike) -> dict[str, Any]:
    """An item as the API takes it; fields of mappings that this version does not know go along."""
    if isinstance(item, Item):
        return given(
            external_id=item.external_id,
            vector=encoded(item.vector),
            text=item.text,
            metadata=item.metadata,
            if_version=item.if_version,
            only_if=item.only_if,
        ) | expiry_body(item.expires_at)
    body = dict(item)
    if isinstance(body.get("expires_at"), datetime):
        body |= expiry_body(body["expires_at"])
    vector = body.get("vector")
    if vector is not None:
        body["vector"] = encode_vector(vector)
    return body


def expiry_body(expires_at: datetime | str | None) -> dict[str, Any]:
    """When an item expires, as the API takes it; nothing for ``KEPT``. ``ValueError`` for a time without a zone."""
    if isinstance(expires_at, datetime):
        if expires_at.tzinfo is None:
            raise ValueError("expires_at needs a time zone")
        return {"expires_at": expires_at.isoformat(timespec="milliseconds")}
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


def query_body(query: BulkSearchQuery | Mapping[str, Any]) -> dict[str, Any]:
    """One of several searches as the API takes it."""
    body = given(**vars(query)) if isinstance(query, BulkSearchQuery) else dict(query)
    if body.get("vector") is not None:
        body["vector"] = encode_vector(body["vector"])
    return body


def vectors_body(vectors: Iterable[VectorLike] | None) -> list[str] | None:
    """A list of vectors, such as the rows of a matrix."""
    return None if vectors is None else [encode_vector(vector) for vector in vectors]
