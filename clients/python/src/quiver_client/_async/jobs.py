"""Long work."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from .. import operations
from ..models import Job, JobPage, JobState
from .runtime import sleep
from .transport import AsyncTransport

_LOOK_FIRST_S = 0.2
_LOOK_LONGEST_S = 2.0


@dataclass(frozen=True)
class AsyncJobs:
    """Long work, which goes on by itself: backups, restores, reshards and others, of what the key may use."""

    _transport: AsyncTransport

    async def page(
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
        return await self._transport.call(operations.LIST_JOBS, JobPage, query=query)

    async def get(self, job_id: str) -> Job:
        """How far a job is."""
        return await self._transport.call(operations.GET_JOB, Job, path={"id": job_id})

    async def wait(self, job_id: str, *, on_progress: Callable[[Job], None] | None = None) -> Job:
        """Waits until a job is done, failed or cancelled, and answers it as it is then: ``state`` says which."""
        every = _LOOK_FIRST_S
        while True:
            job = await self.get(job_id)
            if on_progress is not None:
                on_progress(job)
            if job.is_over:
                return job
            await sleep(every)
            every = min(_LOOK_LONGEST_S, every * 1.5)

    async def cancel(self, job_id: str) -> Job:
        """Gives a job up, and takes back what it made; ConflictError when it is over, or that is not possible."""
        return await self._transport.call(operations.CANCEL_JOB, Job, path={"id": job_id})

    async def pause(self, job_id: str) -> Job:
        """Lets a job rest until it is resumed; not every kind can."""
        return await self._transport.call(operations.PAUSE_JOB, Job, path={"id": job_id})

    async def resume(self, job_id: str) -> Job:
        """Goes on with a job that is paused."""
        return await self._transport.call(operations.RESUME_JOB, Job, path={"id": job_id})

    async def switch(self, job_id: str, *, keep_hours: int | None = None) -> Job:
        """Lets the new vectors of a reembed that is ready take over.

        ``keep_hours``: how long there is a way back, also of one that has switched.
        """
        body = {} if keep_hours is None else {"keep_hours": keep_hours}
        return await self._transport.call(operations.SWITCH_JOB, Job, path={"id": job_id}, body=body)

    async def back(self, job_id: str) -> Job:
        """Goes back to the vectors of before the switch; ConflictError when there is no way back."""
        return await self._transport.call(operations.BACK_JOB, Job, path={"id": job_id})

    async def list(self, *, kind: str | None = None, state: JobState | None = None, collection: str | None = None) -> AsyncIterator[Job]:
        """All of them, the newest first, a page at a time."""
        cursor: str | None = None
        while True:
            page = await self.page(kind=kind, state=state, collection=collection, cursor=cursor)
            for job in page.jobs:
                yield job
            cursor = page.next_cursor
            if cursor is None:
                return
