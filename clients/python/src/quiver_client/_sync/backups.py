# Written from ../_async by `UPDATE=1 npm test -- test/unit/clients/python`: edit that.
"""Backups and restores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from .. import operations
from ..bodies import given, moment
from ..models import Backup, BackupList, RestorableCollection, Restore
from .transport import Transport


@dataclass(frozen=True)
class Backups:
    """Backups and restores, which go on by themselves: ``get`` and ``restore_state`` say how far they are. Needs an admin key.

    ``target`` is where backups are; left out, as the service is set.
    """

    _transport: Transport

    def create(self, collections: Sequence[str] | None = None, *, target: str | None = None) -> Backup:
        """Begins a backup of all collections, or of those named. Every write that was acknowledged before is in it."""
        body = given(collections=None if collections is None else [*collections], target=target)
        return self._transport.call(operations.CREATE_BACKUP, Backup, body=body)

    def get(self, backup_id: str, *, target: str | None = None) -> Backup:
        """How far a backup is, and what is in it."""
        return self._transport.call(operations.GET_BACKUP, Backup, path={"id": backup_id}, query={"target": target})

    def delete(self, backup_id: str, *, target: str | None = None) -> Backup:
        """Deletes a backup, or gives one up that is under way. What other backups need of it stays."""
        return self._transport.call(operations.DELETE_BACKUP, Backup, path={"id": backup_id}, query={"target": target})

    def verify(self, backup_id: str, *, target: str | None = None) -> Backup:
        """Begins to compare every object of a backup with its checksum; ``verification`` of ``get`` says what was found."""
        return self._transport.call(operations.VERIFY_BACKUP, Backup, path={"id": backup_id}, query={"target": target})

    def restore(
        self,
        backup_id: str | None = None,
        *,
        until: datetime | Mapping[str, Sequence[int]] | None = None,
        target: str | None = None,
        collections: Sequence[str] | None = None,
        rename: Mapping[str, str] | None = None,
        shards: int | None = None,
        replicas: int | None = None,
        keys: bool = False,
        unsealed: bool = False,
    ) -> Restore:
        """Begins to restore collections, of all or of those named, into names that are free, or collections that are empty.

        ``until`` is a time (without a zone, the local one): what was acknowledged by then, and nothing later. Or, by
        collection, the last entry of the log of each of its shards. Without a backup, the newest that leads there is taken.
        ``rename`` gives others than in the backup, ``shards`` and ``replicas`` other numbers of them; ``keys`` adds the API
        keys that are not there. ``unsealed`` takes on trust keys and logs that the service has not sealed.
        """
        body = given(
            backup=backup_id,
            until=moment(until),
            target=target,
            collections=None if collections is None else [*collections],
            rename=None if rename is None else dict(rename),
            shards=shards,
            replicas=replicas,
            keys=keys or None,
            unsealed=unsealed or None,
        )
        return self._transport.call(operations.RESTORE, Restore, body=body)

    def restore_state(self, restore_id: str) -> Restore:
        """How far a restore is."""
        return self._transport.call(operations.GET_RESTORE, Restore, path={"id": restore_id})

    def cancel_restore(self, restore_id: str) -> Restore:
        """Gives a restore up, unless it is too late (409), or forgets one that is over."""
        return self._transport.call(operations.CANCEL_RESTORE, Restore, path={"id": restore_id})

    def list_restores(self) -> list[Restore]:
        """All restores, the newest first."""
        data = self._transport.call(operations.LIST_RESTORES, dict[str, list[Restore]])
        return data["restores"]

    def restorable(self, *, target: str | None = None) -> list[RestorableCollection]:
        """From when to when collections can be restored to any moment, where logs are shipped."""
        return (self._transport.call(operations.LIST_BACKUPS, BackupList, query={"target": target})).restorable

    def list(self, *, target: str | None = None) -> list[Backup]:
        """All backups, the newest first."""
        return (self._transport.call(operations.LIST_BACKUPS, BackupList, query={"target": target})).backups
