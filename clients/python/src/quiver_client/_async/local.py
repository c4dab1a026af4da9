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
from .client import DEFAULT_TIMEOUT_S, AsyncQuiverClient
from .runtime import aside, socket_client


class AsyncLocalQuiverClient(AsyncQuiverClient):
    """A client like any other, whose ``close`` also ends the service that it has for itself. Made by ``local_async``."""

    _service: LocalService | None = None
    """None: a copy by ``with_options``, which ends nothing."""

    def __init__(self, service: LocalService, **options: Any) -> None:
        super().__init__("http://local", "owner", http_client=socket_client(service.socket), **options)
        self._owns_http = True
        self._service = service

    async def close(self) -> None:
        """Closes the connections and ends the service, which first does what is under way."""
        await super().close()
        if self._service is not None:
            await aside(self._service.stop)

    async def __aenter__(self) -> AsyncLocalQuiverClient:
        return self

    def __repr__(self) -> str:
        return super().__repr__() if self._service is None else f"{type(self).__name__}({str(self._service.folder)!r})"


async def local_async(
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
) -> AsyncLocalQuiverClient:
    """Starts a service for a folder of data, which is made where there is none, and answers its client.

    The service is a process of its own, which nobody else can reach. It ends with ``close`` (or the ``with`` block), with
    this program, and when this program is killed; what it has acknowledged is on the disk in any case. One process has a
    folder at a time: for another, a ``LocalServiceError`` names the first. ``quiver serve folder`` serves the same data to
    everybody. ``settings`` are those of the service by their names, ``{"EMBEDDING_MODEL": "builtin"}``; its environment
    has no others. ``program`` is the service's file; without it, that of ``quiver-server``, or ``quiver`` on the ``PATH``.
    The rest is as of the client.
    """
    service = await aside(lambda: LocalService(folder, program=program, settings=settings))
    try:
        return AsyncLocalQuiverClient(
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
        await aside(service.stop)
        raise
