# Written from ../_async by `UPDATE=1 npm test -- test/unit/clients/python`: edit that.
"""A client with a service of its own, for a folder of data: no port, no key, nothing to start before."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import httpx

from ..local_service import LocalService
from ..notices import WarningMode
from ..retries import RetryPolicy
from ..vectors import VectorFormat
from .client import DEFAULT_TIMEOUT_S, QuiverClient
from .runtime import aside, socket_client


class LocalQuiverClient(QuiverClient):
    """A client like any other, whose ``close`` also ends the service that it has for itself. Made by ``local``."""

    _service: LocalService | None = None
    """None: a copy by ``with_options``, which ends nothing."""

    def __init__(self, service: LocalService, **options: Any) -> None:
        super().__init__("http://local", "owner", http_client=socket_client(service.socket), **options)
        self._owns_http = True
        self._service = service

    def close(self) -> None:
        """Closes the connections and ends the service, which first does what is under way."""
        super().close()
        if self._service is not None:
            aside(self._service.stop)

    def __enter__(self) -> LocalQuiverClient:
        return self

    def __repr__(self) -> str:
        return super().__repr__() if self._service is None else f"{type(self).__name__}({str(self._service.folder)!r})"


def local(
    folder: str | os.PathLike[str],
    *,
    settings: Mapping[str, object] | None = None,
    program: str | os.PathLike[str] | None = None,
    timeout: float | httpx.Timeout = DEFAULT_TIMEOUT_S,
    retries: RetryPolicy | None = None,
    headers: Mapping[str, str] | None = None,
    vector_format: VectorFormat = "base64",
    idempotency_keys: bool = False,
    strict: bool = False,
    warnings: WarningMode = "once",
) -> LocalQuiverClient:
    """Starts a service for a folder of data, which is made where there is none, and answers its client.

    The service is a process of its own, which nobody else can reach. It ends with ``close`` (or the ``with`` block), with
    this program, and when this program is killed; what it has acknowledged is on the disk in any case. One process has a
    folder at a time: for another, a ``LocalServiceError`` names the first. ``quiver serve folder`` serves the same data to
    everybody. ``settings`` are those of the service by their names, ``{"EMBEDDING_MODEL": "builtin"}``; its environment
    has no others. ``program`` is the service's file; without it, that of ``quiver-server``, or ``quiver`` on the ``PATH``.
    The rest is as of the client.
    """
    service = aside(lambda: LocalService(folder, program=program, settings=settings))
    try:
        return LocalQuiverClient(
            service,
            timeout=timeout,
            retries=retries,
            headers=headers,
            vector_format=vector_format,
            idempotency_keys=idempotency_keys,
            strict=strict,
            warnings=warnings,
        )
    except BaseException:
        # No option is looked at before.
        aside(service.stop)
        raise
