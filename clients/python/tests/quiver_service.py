"""A real service for all tests: the one of QUIVER_URL and QUIVER_API_KEY, or one that is started here.

The tests of the framework packages beside this one use it, too.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

CHECKOUT = Path(__file__).resolve().parents[3]
START_DEADLINE_S = 60.0


@dataclass(frozen=True)
class Server:
    """Where a service is, and its admin key."""

    url: str
    api_key: str
    llm_port: int | None
    """Where it looks for its language model, which a test may be; None: it has another, or none."""


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    url = os.environ.get("QUIVER_URL")
    if url is not None:
        llm = os.environ.get("QUIVER_TEST_LLM_PORT")
        yield Server(url, os.environ["QUIVER_API_KEY"], None if llm is None else int(llm))
        return
    program, node = CHECKOUT / "scripts" / "quiver.cjs", shutil.which("node")
    if node is None or not program.exists():
        pytest.skip("no service: QUIVER_URL is not set, and there is no checkout with Node to start one")
    port, data, backups = _free_port(), tempfile.mkdtemp(prefix="quiver-python-"), tempfile.mkdtemp(prefix="quiver-python-backups-")
    llm_port = _free_port()
    settings = {
        "PORT": str(port),
        "HOST": "127.0.0.1",
        "OPS_PORT": "0",
        "DATA_DIR": data,
        "BACKUP_TARGET": f"file:{backups}",
        "API_KEY": "test-admin-key",
        "RATE_LIMIT_PER_MINUTE": "0",
        "EMBEDDING_MODEL": "builtin",
        "LLM_BASE_URL": f"http://127.0.0.1:{llm_port}/v1",
        "LLM_MODELS": "small",
        "LOG_LEVEL": "warn",
    }
    process = subprocess.Popen([node, str(program), "embedded"], env={"PATH": os.environ["PATH"], **settings})
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_until_ready(address, process)
        yield Server(address, settings["API_KEY"], llm_port)
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(data)
        shutil.rmtree(backups)


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
