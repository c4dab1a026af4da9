"""What the async form does in another way than the sync one. Its counterpart is ``_sync/runtime.py``; both are written by hand."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from types import TracebackType
from typing import IO, TypeAlias, TypeVar

import anyio
import anyio.abc
import httpx

T = TypeVar("T")

HttpClient: TypeAlias = httpx.AsyncClient
Source: TypeAlias = Iterable[T] | AsyncIterable[T]
TokenProvider: TypeAlias = Callable[[bool], str | Awaitable[str]]

sleep = anyio.sleep


async def each(source: Source[T]) -> AsyncIterator[T]:
    """Goes through either kind of iterable."""
    if isinstance(source, AsyncIterable):
        async for one in source:
            yield one
    else:
        for one in source:
            yield one


class TokenSource:
    """Asks a provider for the token of each request, and tells it when one was refused."""

    def __init__(self, provider: TokenProvider) -> None:
        self._provider = provider
        self._is_refused = False

    def note_refused(self) -> None:
        """The service did not take the last one."""
        self._is_refused = True

    async def next(self) -> str:
        """The token of the next request."""
        refused, self._is_refused = self._is_refused, False
        token = self._provider(refused)
        return token if isinstance(token, str) else await token


def socket_client(path: str) -> HttpClient:
    """A client of what is served on a socket, whatever proxies there are."""
    return httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(uds=path), trust_env=False)


async def aside(work: Callable[[], T]) -> T:
    """Does it without keeping others waiting, and to its end."""
    with anyio.CancelScope(shield=True):
        result = await anyio.to_thread.run_sync(work)
    return result  # noqa: RET504


async def read_piece(file: IO[bytes], size: int) -> bytes:
    """Reads without keeping others waiting."""
    return await anyio.to_thread.run_sync(file.read, size)


class AsyncLanes:
    """Carries out several things at once, at most ``width``, and none after one that failed."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._free = anyio.Semaphore(width)
        self._group: anyio.abc.TaskGroup = anyio.create_task_group()
        self.failure: BaseException | None = None

    async def __aenter__(self) -> AsyncLanes:
        await self._group.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool | None:
        if error is None or isinstance(error, Exception):
            # What is under way ends; an error of the block then goes on as it is, and not in a group.
            await self._group.__aexit__(None, None, None)
            return None
        self._group.cancel_scope.cancel()
        return await self._group.__aexit__(kind, error, trace)

    async def start(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Begins when a lane is free; answers False, and does nothing, when something has failed."""
        await self._free.acquire()
        if self.failure is not None:
            self._free.release()
            return False
        self._group.start_soon(self._carry_out, work)
        return True

    async def idle(self) -> None:
        """Waits until nothing is under way."""
        for _ in range(self._width):
            await self._free.acquire()
        for _ in range(self._width):
            self._free.release()

    async def _carry_out(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception as error:
            self.failure = self.failure or error
        finally:
            self._free.release()
