"""Clients of both forms, and a collection for each test."""

from __future__ import annotations

import inspect
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import pytest

from quiver_client import AsyncQuiverClient, QuiverClient

from .quiver_service import Server, server

__all__ = ["Server", "server"]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["sync", "async"])
async def quiver(request: pytest.FixtureRequest, server: Server) -> AsyncIterator[Any]:
    """Each form of the client in turn; tests say ``await got(...)`` for both."""
    if request.param == "sync":
        with QuiverClient(server.url, server.api_key) as client:
            yield client
    else:
        async with AsyncQuiverClient(server.url, server.api_key) as other:
            yield other


@pytest.fixture
async def items(quiver: Any) -> AsyncIterator[Any]:
    """A collection of its own with two dimensions."""
    name = f"items-{uuid.uuid4().hex[:12]}"
    await got(quiver.create_collection(name, 2, distance_metric="l2"))
    yield quiver.collection(name)
    await got(quiver.collection(name).drop())


async def got(result: Any) -> Any:
    """The result of either form."""
    return await result if inspect.isawaitable(result) else result


async def eventually(ask: Callable[[], Awaitable[Any]], is_so: Callable[[Any], bool], deadline_s: float = 60) -> Any:
    """What is asked for, once it is so."""
    end = time.monotonic() + deadline_s
    while not is_so(answer := await ask()):
        assert time.monotonic() < end, answer
        await anyio.sleep(0.05)
    return answer


async def listed(iterator: Any) -> list[Any]:
    """All that an iterator of either form gives."""
    if isinstance(iterator, Awaitable):
        raise TypeError("that is no iterator")
    return [one async for one in iterator] if hasattr(iterator, "__aiter__") else list(iterator)
