"""A service of one's own, in both forms."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from quiver_client import LocalServiceError, NotFoundError, local, local_async
from quiver_client.local_service import program_of

from .conftest import got
from .quiver_service import CHECKOUT

PROGRAM = CHECKOUT / "scripts" / "quiver.cjs"
SETTINGS = {"EMBEDDING_MODEL": "builtin", "COLLECTION_FIELDS_MAX": 500}
pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(shutil.which("node") is None or not (CHECKOUT / "dist").exists(), reason="no built checkout with Node"),
]


@pytest.fixture(params=["sync", "async"])
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    if request.param == "sync":
        with local(tmp_path / "data", program=PROGRAM, settings=SETTINGS) as client:
            yield client
    else:
        async with await local_async(tmp_path / "data", program=PROGRAM, settings=SETTINGS) as other:
            yield other


async def test_a_folder_is_used_like_any_service(opened: Any, tmp_path: Path) -> None:
    assert repr(str(tmp_path / "data")) in repr(opened)
    await got(opened.create_collection("rows", 2))
    rows = opened.collection("rows")
    await got(rows.upsert("a", [1, 0], metadata={"n": 1}))
    assert [hit.external_id for hit in (await got(rows.search([1, 0], k=1))).results] == ["a"]
    with pytest.raises(NotFoundError):
        await got(opened.collection("none").info())
    # It has its own options and the same service.
    await got(opened.with_options(timeout=5).close())
    assert (await got(opened.me())).role == "admin"


async def test_another_process_hears_whose_folder_it_is(opened: Any, tmp_path: Path) -> None:
    with pytest.raises(LocalServiceError, match=f"in use by another process: {opened._service.pid} "):
        local(tmp_path / "data", program=PROGRAM, settings=SETTINGS)


async def test_what_is_closed_is_gone_and_what_was_written_stays(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with local(folder, program=PROGRAM, settings=SETTINGS) as first:
        first.create_collection("rows", 2)
        first.collection("rows").upsert("a", [1, 0])
        service = first._service
        assert service is not None
    assert not is_running(service.pid)
    assert not os.path.exists(os.path.dirname(service.socket))
    first.close()
    async with await local_async(folder, program=PROGRAM, settings=SETTINGS) as second:
        assert (await second.collection("rows").get("a")).external_id == "a"


@pytest.mark.parametrize("end", ["returns", "raises", "is killed"])
async def test_the_service_ends_with_its_program(tmp_path: Path, end: str) -> None:
    last = {"returns": "", "raises": "raise RuntimeError", "is killed": "os.kill(os.getpid(), 9)"}[end]
    text = f"""
import os
from quiver_client import local
client = local({str(tmp_path / "data")!r}, program={str(PROGRAM)!r}, settings={SETTINGS!r})
client.create_collection("rows", 2)
client.collection("rows").upsert("a", [1, 0])
print(client._service.pid, flush=True)
{last}
"""
    ran = subprocess.run([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    assert ran.returncode == {"returns": 0, "raises": 1, "is killed": -signal.SIGKILL}[end]
    pid = int(ran.stdout)
    with anyio.fail_after(60):
        while is_running(pid):
            await anyio.sleep(0.02)
    with local(tmp_path / "data", program=PROGRAM, settings=SETTINGS) as client:
        assert client.collection("rows").get("a").external_id == "a"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
async def test_a_forked_copy_of_its_program_neither_ends_nor_keeps_it(tmp_path: Path) -> None:
    text = f"""
import os, sys
from quiver_client import local
client = local({str(tmp_path / "data")!r}, program={str(PROGRAM)!r}, settings={SETTINGS!r})
client.create_collection("rows", 2)
if os.fork() == 0:
    sys.exit()
os.wait()
client.collection("rows").upsert("a", [1, 0])
copy = os.fork()
if copy == 0:
    os.close(1)
    while True:
        os.read(0, 1)
print(client._service.pid, copy, flush=True)
os.kill(os.getpid(), 9)
"""
    lasting, held = os.pipe()
    try:
        command = [sys.executable, "-c", text]
        ran = subprocess.run(command, stdin=lasting, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        service, copy = (int(word) for word in ran.stdout.split())
        with anyio.fail_after(60):
            while is_running(service):
                await anyio.sleep(0.02)
        assert is_running(copy)
        os.kill(copy, signal.SIGKILL)
    finally:
        os.close(lasting)
        os.close(held)


async def test_the_example_of_the_page_runs(tmp_path: Path) -> None:
    page = (CHECKOUT / "clients" / "python" / "README.md").read_text()
    (example,) = re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "quiver").symlink_to(PROGRAM)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("mars\n", "")


async def test_what_can_not_be_started_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LocalServiceError, match="RECALL_TARGET"):
        local(tmp_path / "data", program=PROGRAM, settings={"RECALL_TARGET": "much"})
    # An option that is not valid leaves no service behind.
    with pytest.raises(TypeError):
        local(tmp_path / "data", program=PROGRAM, settings=SETTINGS, timeout=None)  # type: ignore[arg-type]
    local(tmp_path / "data", program=PROGRAM, settings=SETTINGS).close()
    with pytest.raises(LocalServiceError, match="could not be started"):
        local(tmp_path / "data", program=tmp_path / "nothing")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(LocalServiceError, match="pip install quiver-server"):
        program_of(None)
    beside = tmp_path / "quiver"
    beside.write_text("#!/bin/sh\n")
    beside.chmod(0o755)
    assert program_of(None) == [str(beside)]


def is_running(pid: int) -> bool:
    """Not one that has ended and is not waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
