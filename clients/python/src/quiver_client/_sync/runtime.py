"""What the sync form does in another way than the async one. Its counterpart is ``_async/runtime.py``; both are written by hand."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import IO, TypeAlias, TypeVar

import httpx

T = TypeVar("T")

HttpClient: TypeAlias = httpx.Client
Source: TypeAlias = Iterable[T]
TokenProvider: TypeAlias = Callable[[bool], str]

sleep = time.sleep


def each(source: Source[T]) -> Iterator[T]:
    """Goes through an iterable."""
    yield from source


class TokenSource:
    """Asks a provider for the token of each request, and tells it when one was refused."""

    def __init__(self, provider: TokenProvider) -> None:
        self._provider = provider
        self._is_refused = False

    def note_refused(self) -> None:
        """The service did not take the last one."""
        self._is_refused = True

    def next(self) -> str:
        """The token of the next request."""
        refused, self._is_refused = self._is_refused, False
        return self._provider(refused)


def socket_client(path: str) -> HttpClient:
    """A client of what is served on a socket, whatever proxies there are."""
    return httpx.Client(transport=httpx.HTTPTransport(uds=path), trust_env=False)


def aside(work: Callable[[], T]) -> T:
    """Does it."""
    return work()


def read_piece(file: IO[bytes], size: int) -> bytes:
    """Reads."""
    return file.read(size)


class Lanes:
    """Carries out several things at once, at most ``width``, and none after one that failed."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._free = threading.Semaphore(width)
        self._threads = ThreadPoolExecutor(width, thread_name_prefix="quiver-lane")
        self.failure: BaseException | None = None

    def __enter__(self) -> Lanes:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        # What is under way ends.
        self._threads.shutdown(cancel_futures=error is not None)

    def start(self, work: Callable[[], None]) -> bool:
        """Begins when a lane is free; answers False, and does nothing, when something has failed."""
        self._free.acquire()
        if self.failure is not None:
            self._free.release()
            return False
        self._threads.submit(self._carry_out, work)
        return True

    def idle(self) -> None:
        """Waits until nothing is under way."""
        for _ in range(self._width):
            self._free.acquire()
        for _ in range(self._width):
            self._free.release()

    def _carry_out(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            self.failure = self.failure or error
        finally:
            self._free.release()
