# Written from ../_async by scripts/make_sync.py: edit that.
"""API keys."""

from __future__ import annotations

from dataclasses import dataclass

from .. import operations
from ..bodies import given
from ..models import ApiKey, ApiKeyWithSecret, KeyDeleted, Role, Usage, UsageSummary
from .transport import Transport


@dataclass(frozen=True)
class Keys:
    """API keys and what was done with them; needs an admin key."""

    _transport: Transport

    def create(self, name: str, role: Role, *, expires_in_days: int | None = None) -> ApiKeyWithSecret:
        """Creates a key; its secret is in this answer and in no later one."""
        body = given(name=name, role=role, expires_in_days=expires_in_days)
        return self._transport.call(operations.CREATE_KEY, ApiKeyWithSecret, body=body)

    def list(self) -> list[ApiKey]:
        """All keys."""
        data = self._transport.call(operations.LIST_KEYS, dict[str, list[ApiKey]])
        return data["keys"]

    def get(self, key_id: int) -> ApiKey:
        """One key."""
        return self._transport.call(operations.GET_KEY, ApiKey, path={"id": key_id})

    def update(self, key_id: int, *, name: str | None = None, role: Role | None = None, is_active: bool | None = None) -> ApiKey:
        """Renames a key, changes its role, switches it off or on."""
        return self._transport.call(
            operations.UPDATE_KEY, ApiKey, path={"id": key_id}, body=given(name=name, role=role, is_active=is_active)
        )

    def delete(self, key_id: int) -> KeyDeleted:
        """Deletes a key. Key 1 can't be deleted."""
        return self._transport.call(operations.DELETE_KEY, KeyDeleted, path={"id": key_id})

    def rotate(self, key_id: int) -> ApiKeyWithSecret:
        """Gives a key a new secret; the old one ends."""
        return self._transport.call(operations.ROTATE_KEY, ApiKeyWithSecret, path={"id": key_id})

    def usage(self, key_id: int) -> Usage:
        """Requests made with one key."""
        return self._transport.call(operations.KEY_USAGE, Usage, path={"id": key_id})

    def usage_summary(self) -> UsageSummary:
        """Requests made with all keys, together and each."""
        return self._transport.call(operations.USAGE_SUMMARY, UsageSummary)
