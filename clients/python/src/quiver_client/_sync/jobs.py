# Written from ../_async by `UPDATE=1 npm test -- test/unit/clients/python`: edit that.
"""Long work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .. import operations
from ..models import Job, JobPage, JobState
from .runtime import sleep
from .transport import Transport

_LOOK_FIRST_S = 0.2
_LOOK_LONGEST_S = 2.0


@dataclass(frozen=True)
class Jobs:
    """Long work, which goes on by itself: backups, restores, reshards and others, of what the key may use."""

    _transport: Transport

    def page(
        self,
        *,
        kind: str | None = None,
        state: JobState | None = None,
        collection: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> JobPage:
        """A page of them, the newest first; ``cursor`` of the next is ``next_cursor``."""
        query = {"kind": kind, "state": state, "collection": collection, "limit": limit, "cursor": cursor}
        return self._transport.call(operations.LIST_JOBS, JobPage, query=query)

    def get(self, job_id: str) -> Job:
        """How far a job is."""
        return self._transport.call(operations.GET_JOB, Job, path={"id": job_id})

    def wait(self, job_id: str, *, on_progress: Callable[[Job], None] | None = None) -> Job:
        """Waits until a job is done, failed or cancelled, and answers it as it is then: ``state`` says which."""
        every = _LOOK_FIRST_S
        while True:
            job = self.get(job_id)
            if on_progress is not None:
                on_progress(job)
            if job.is_over:
                return job
            sleep(every)
            every = min(_LOOK_LONGEST_S, every * 1.5)

    def cancel(self, job_id: str) -> Job:
        """Gives a job up, and takes back what it made; ConflictError when it is over, or that is not possible."""
        return self._transport.call(operations.CANCEL_JOB, Job, path={"id": job_id})

    def pause(self, job_id: str) -> Job:
        """Lets a job rest until it is resumed; not every kind can."""
        return self._transport.call(operations.PAUSE_JOB, Job, path={"id": job_id})

    def resume(self, job_id: str) -> Job:
        """Goes on with a job that is paused."""
        return self._transport.call(operations.RESUME_JOB, Job, path={"id": job_id})

    def switch(self, job_id: str, *, keep_hours: int | None = None) -> Job:
        """Lets the new vectors of a reembed that is ready take over.

        ``keep_hours``: how long there is a way back, also of one that has switched.
        """
        body = {} if keep_hours is None else {"keep_hours": keep_hours}
        return self._transport.call(operations.SWITCH_JOB, Job, path={"id": job_id}, body=body)

    def back(self, job_id: str) -> Job:
        """Goes back to the vectors of before the switch; ConflictError when there is no way back."""
        return self._transport.call(operations.BACK_JOB, Job, path={"id": job_id})

    def list(self, *, kind: str | None = None, state: JobState | None = None, collection: str | None = None) -> Iterator[Job]:
        """All of them, the newest first, a page at a time."""
        cursor: str | None = None
        while True:
            page = self.page(kind=kind, state=state, collection=collection, cursor=cursor)
            for job in page.jobs:
                yield job
            cursor = page.next_cursor
            if cursor is None:
                return
