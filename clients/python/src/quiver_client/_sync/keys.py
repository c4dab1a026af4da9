# Written from ../_async by `UPDATE=1 npm test -- test/unit/clients/python`: edit that.
"""API keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

from .. import operations
from ..bodies import given, scopes_body
from ..models import ApiKey, ApiKeyWithSecret, KeyDeleted, KeyScopeLike, Role, UsageOfKey, UsageSummary
from .transport import Transport


@dataclass(frozen=True)
class Keys:
    """API keys and what was done with them; needs an admin key."""

    _transport: Transport

    def create(
        self,
        name: str,
        role: Role,
        *,
        expires_in_days: int | None = None,
        collections: Sequence[KeyScopeLike] | None = None,
        allowed_networks: Sequence[str] | None = None,
        rate_limit_per_minute: int | None = None,
        quota: Mapping[str, Any] | None = None,
    ) -> ApiKeyWithSecret:
        """Creates a key; its secret is in this answer and in no later one.

        It may be limited to ``collections``, by name or prefix with a role each, to networks, to a rate (0: none), and to a
        ``quota`` of ``items`` or ``bytes`` per ``period`` ("day", "month", "total").
        """
        body = given(
            name=name,
            role=role,
            expires_in_days=expires_in_days,
            collections=None if collections is None else scopes_body(collections),
            allowed_networks=None if allowed_networks is None else [*allowed_networks],
            rate_limit_per_minute=rate_limit_per_minute,
            quota=None if quota is None else dict(quota),
        )
        return self._transport.call(operations.CREATE_KEY, ApiKeyWithSecret, body=body)

    def list(self) -> list[ApiKey]:
        """All keys."""
        data = self._transport.call(operations.LIST_KEYS, dict[str, list[ApiKey]])
        return data["keys"]

    def get(self, key_id: int) -> ApiKey:
        """One key."""
        return self._transport.call(operations.GET_KEY, ApiKey, path={"id": key_id})

    def update(
        self,
        key_id: int,
        *,
        name: str | None = None,
        role: Role | None = None,
        is_active: bool | None = None,
        expires_in_days: int | EllipsisType | None = ...,
        collections: Sequence[KeyScopeLike] | EllipsisType | None = ...,
        allowed_networks: Sequence[str] | EllipsisType | None = ...,
        rate_limit_per_minute: int | EllipsisType | None = ...,
        quota: Mapping[str, Any] | EllipsisType | None = ...,
    ) -> ApiKey:
        """Renames a key, changes its role, limits or end, switches it off or on.

        What is left out stays as it is; None takes a limit away.
        """
        body = given(name=name, role=role, is_active=is_active)
        if not isinstance(expires_in_days, EllipsisType):
            body["expires_in_days"] = expires_in_days
        if not isinstance(collections, EllipsisType):
            body["collections"] = None if collections is None else scopes_body(collections)
        if not isinstance(allowed_networks, EllipsisType):
            body["allowed_networks"] = None if allowed_networks is None else [*allowed_networks]
        if not isinstance(rate_limit_per_minute, EllipsisType):
            body["rate_limit_per_minute"] = rate_limit_per_minute
        if not isinstance(quota, EllipsisType):
            body["quota"] = None if quota is None else dict(quota)
        return self._transport.call(operations.UPDATE_KEY, ApiKey, path={"id": key_id}, body=body)

    def delete(self, key_id: int) -> KeyDeleted:
        """Deletes a key. Key 1 can't be deleted."""
        return self._transport.call(operations.DELETE_KEY, KeyDeleted, path={"id": key_id})

    def rotate(self, key_id: int, *, grace_seconds: int | None = None) -> ApiKeyWithSecret:
        """Gives a key a new secret; the old one ends, at once or after ``grace_seconds``."""
        body = None if grace_seconds is None else {"grace_seconds": grace_seconds}
        return self._transport.call(operations.ROTATE_KEY, ApiKeyWithSecret, path={"id": key_id}, body=body)

    def usage(self, key_id: int) -> UsageOfKey:
        """Requests made with one key, and what it has stored of its quota."""
        return self._transport.call(operations.KEY_USAGE, UsageOfKey, path={"id": key_id})

    def usage_summary(self) -> UsageSummary:
        """Requests made with all keys, together and each."""
        return self._transport.call(operations.USAGE_SUMMARY, UsageSummary)
