"""A service of one's own: a process that is started here, for a folder of data, and ends with this one."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path

from .errors import LocalServiceError

START_DEADLINE_S = 300.0
"""The first start may load a model."""
STOP_DEADLINE_S = 40.0
"""More than the service gives itself."""
LOOK_S = 0.005
LONGEST_LOOK_S = 0.1


def program_of(program: str | os.PathLike[str] | None) -> list[str]:
    """The words that begin the command: of the program that is given, else of ``quiver`` beside Python, else of the ``PATH``."""
    if program is not None:
        path = os.fspath(program)
        return [_node(), path] if path.endswith((".cjs", ".mjs", ".js")) else [path]
    # What pip installs lies beside the interpreter, whether that is on the PATH or not.
    found = shutil.which("quiver", path=os.path.dirname(sys.executable)) or shutil.which("quiver")
    if found is not None:
        return [found]
    raise LocalServiceError(
        "there is no service to start: pip install quiver-server, which brings all that it takes; or have `quiver` on the PATH "
        "(npm install --global quiver), or give its file: local(folder, program='…/scripts/quiver.cjs')"
    )


def _node() -> str:
    found = shutil.which("node")
    if found is None:
        raise LocalServiceError("there is no node on the PATH to run that program: pip install quiver-server brings one")
    return found


class LocalService:
    """A process that serves a folder on a socket in a directory that only this user may enter.

    It ends when it is told to, and when this process ends, however that ends: it reads a pipe whose other end is here.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        program: str | os.PathLike[str] | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        words = program_of(program)
        self.folder = Path(folder).resolve()
        self._directory = tempfile.mkdtemp(prefix="quiver-")
        self.socket = os.path.join(self._directory, "socket")
        self._log = os.path.join(self._directory, "log")
        self._lock = threading.Lock()
        environment = {name: value for name, value in os.environ.items() if name in _KEPT}
        environment |= {"LOG_LEVEL": "error", **{name: _setting(value) for name, value in (settings or {}).items()}}
        try:
            with open(self._log, "wb") as log:
                self._process = subprocess.Popen(
                    [*words, "serve", str(self.folder), "--private", self.socket],
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    # Ctrl-C is for the program; what it does about it is its own to say.
                    start_new_session=True,
                )
        except OSError as error:
            self._remove()
            raise LocalServiceError(f"the service could not be started: {error}") from error
        # Of a copy of this process by `fork`, the service is another's.
        self._owner = os.getpid()
        atexit.register(self.stop)
        if hasattr(os, "register_at_fork"):
            service = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: _let_go(service()))
        try:
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_DEADLINE_S
        look = LOOK_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise LocalServiceError(f"the service of {self.folder} did not start: {self._said()}")
            with socket.socket(socket.AF_UNIX) as trial:
                # It listens when it is ready.
                if trial.connect_ex(self.socket) == 0:
                    return
            time.sleep(look)
            look = min(look * 2, LONGEST_LOOK_S)
        raise LocalServiceError(f"the service of {self.folder} did not get ready: {self._said()}")

    def _said(self) -> str:
        text = Path(self._log).read_text(errors="replace").strip()
        return text[-2000:] if text else f"it ended with code {self._process.returncode}"

    @property
    def pid(self) -> int:
        """Of its process."""
        return self._process.pid

    def stop(self) -> None:
        """Ends it: what is under way is done, and then its process is gone. Once more does nothing."""
        if os.getpid() != self._owner:
            return
        with self._lock:
            if not os.path.isdir(self._directory):
                return
            atexit.unregister(self.stop)
            if self._process.stdin is not None:
                with contextlib.suppress(OSError):
                    self._process.stdin.close()
            try:
                self._process.wait(STOP_DEADLINE_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._remove()

    def _remove(self) -> None:
        shutil.rmtree(self._directory, ignore_errors=True)


def _let_go(service: LocalService | None) -> None:
    """In a copy of the process that owns it: it must not keep the service alive when that process ends."""
    if service is not None and service._process.stdin is not None:
        with contextlib.suppress(OSError):
            service._process.stdin.close()


_KEPT = frozenset(
    {"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}
    | ({"SYSTEMROOT"} if sys.platform == "win32" else set())
)
"""What any program takes from its environment; the settings of the service are given, not found."""


def _setting(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
