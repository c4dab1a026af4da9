"""A real service for all tests: the one of QUIVER_URL and QUIVER_API_KEY, or one that is started here."""

from __future__ import annotations

import inspect
import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from quiver_client import AsyncQuiver, Quiver

CHECKOUT = Path(__file__).resolve().parents[3]
START_DEADLINE_S = 60.0


@dataclass(frozen=True)
class Server:
    """Where a service is, and its admin key."""

    url: str
    api_key: str


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    url = os.environ.get("QUIVER_URL")
    if url is not None:
        yield Server(url, os.environ["QUIVER_API_KEY"])
        return
    program, node = CHECKOUT / "scripts" / "quiver.cjs", shutil.which("node")
    if node is None or not program.exists():
        pytest.skip("no service: QUIVER_URL is not set, and there is no checkout with Node to start one")
    port, data = _free_port(), tempfile.mkdtemp(prefix="quiver-python-")
    settings = {
        "PORT": str(port),
        "HOST": "127.0.0.1",
        "OPS_PORT": "0",
        "DATA_DIR": data,
        "API_KEY": "test-admin-key",
        "RATE_LIMIT_PER_MINUTE": "0",
        "EMBEDDING_MODEL": "builtin",
        "LOG_LEVEL": "warn",
    }
    process = subprocess.Popen([node, str(program), "embedded"], env={"PATH": os.environ["PATH"], **settings})
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_until_ready(address, process)
        yield Server(address, settings["API_KEY"])
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(data)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_until_ready(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_DEADLINE_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the service ended at its start, with code {process.returncode}")
        try:
            if httpx.get(address, timeout=1).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise RuntimeError("the service did not get ready")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["sync", "async"])
async def quiver(request: pytest.FixtureRequest, server: Server) -> AsyncIterator[Any]:
    """Each form of the client in turn; tests say ``await got(...)`` for both."""
    if request.param == "sync":
        with Quiver(server.url, server.api_key) as client:
            yield client
    else:
        async with AsyncQuiver(server.url, server.api_key) as other:
            yield other


@pytest.fixture
async def items(quiver: Any) -> AsyncIterator[Any]:
    """A collection of its own with two dimensions."""
    name = f"items-{uuid.uuid4().hex[:12]}"
    await got(quiver.create_collection(name, 2, distance_metric="l2"))
    yield quiver.collection(name)
    await got(quiver.delete_collection(name))


async def got(result: Any) -> Any:
    """The result of either form."""
    return await result if inspect.isawaitable(result) else result


async def listed(iterator: Any) -> list[Any]:
    """All that an iterator of either form gives."""
    if isinstance(iterator, Awaitable):
        raise TypeError("that is no iterator")
    return [one async for one in iterator] if hasattr(iterator, "__aiter__") else list(iterator)
