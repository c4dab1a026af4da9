"""Taking the service's answers apart, and naming what went wrong on the way to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx

from .errors import BadAnswerError, QuiverConnectionError, QuiverError, QuiverTimeoutError, api_error
from .notices import Notices

SHOWN_CHARACTERS = 200
"""Of a foreign answer, in its error."""


def data_of(response: httpx.Response, notices: Notices) -> Any:
    """The data of a success; raises the error of an envelope, or ``BadAnswerError`` where there is no envelope."""
    return envelope_data(response.content, notices, status=response.status_code, headers=response.headers)


def envelope_data(content: bytes | str, notices: Notices, *, status: int, headers: Mapping[str, str]) -> Any:
    """The same of a body and a head."""
    try:
        envelope = json.loads(content)
    except ValueError:
        envelope = None
    retry_after = _retry_after(headers)
    if isinstance(envelope, dict) and envelope.get("status") == "success" and "data" in envelope:
        for warning in envelope.get("warnings") or []:
            notices.tell(str(warning))
        return envelope["data"]
    error = envelope.get("error") if isinstance(envelope, dict) and envelope.get("status") == "error" else None
    if not isinstance(error, dict):
        text = content if isinstance(content, str) else content.decode(errors="replace")
        raise BadAnswerError(
            f"HTTP status {status}, and no answer of Quiver: {text[:SHOWN_CHARACTERS]!r}",
            http_status=status,
            retry_after=retry_after,
        )
    raise api_error(
        int(error.get("code", 500)),
        str(error.get("message", "")),
        request_id=headers.get("x-request-id"),
        retry_after=retry_after,
        conflicts=error.get("conflicts"),
        written=error.get("written"),
    )


def failure_of(error: httpx.RequestError) -> QuiverError:
    """What an exception of httpx means for the call."""
    reason = str(error) or type(error).__name__
    # A user and a password may be a key.
    url = error.request.url.copy_with(query=None, userinfo=b"")
    where = f"{error.request.method} {url}"
    if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)):
        kind = QuiverConnectionError if isinstance(error, httpx.ConnectError) else QuiverTimeoutError
        return kind(f"{where}: no connection: {reason}")
    if isinstance(error, httpx.TimeoutException):
        return QuiverTimeoutError(f"{where}: no answer in time: {reason}", may_have_arrived=True)
    if isinstance(error, httpx.TransportError):
        return QuiverConnectionError(f"{where}: the connection broke: {reason}", may_have_arrived=True)
    return BadAnswerError(f"{where}: {reason}")


def _retry_after(headers: Mapping[str, str]) -> float | None:
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds < float("inf") else None
