# Written from ../_async by `UPDATE=1 npm test -- test/unit/clients/python`: edit that.
"""Sends requests, repeats them where that helps, and takes envelopes apart."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any, TypeVar

import httpx

from ..answers import data_of, envelope_data, failure_of
from ..bodies import json_bytes
from ..credentials import credential
from ..decoding import decode
from ..errors import BadAnswerError, QuiverError, UnauthorizedError
from ..notices import Notices
from ..operations import Operation
from ..retries import RetryPolicy, may_have_been_carried_out
from ..uploads import CHUNK_BYTES, UploadForm, UploadProgress
from ..vectors import VectorFormat
from .runtime import HttpClient, TokenSource, read_piece, sleep

T = TypeVar("T")
Content = Callable[[], Iterator[bytes]]

_SUCCESS_HEADS = (b'{"status":"success"', b"event: ")
"""How the service begins the envelope of a success, and a stream of events."""


@dataclass(frozen=True)
class Settings:
    """How a client reaches its service."""

    url: str = field(repr=False)
    """It may have a user and a password."""
    headers: Mapping[str, str] = field(repr=False)
    timeout: httpx.Timeout
    retries: RetryPolicy
    vector_format: VectorFormat
    idempotency_keys: bool = False
    """Whether each write has a random ``Idempotency-Key``, the same for all its attempts."""
    tokens: TokenSource | None = field(default=None, repr=False)
    notices: Notices = field(default_factory=lambda: Notices("once"), repr=False)


@dataclass(frozen=True)
class Transport:
    """One client's way to its service. Those of ``with_options`` share the connections."""

    http: HttpClient
    settings: Settings

    def call(
        self,
        operation: Operation,
        answer: type[T],
        *,
        path: Mapping[str, object] | None = None,
        query: Mapping[str, str | int | None] | None = None,
        body: object = None,
        content: bytes | None = None,
        is_safe: bool = True,
    ) -> T:
        """The data of the answer as ``answer``. ``content`` is a body that is JSON already.

        ``is_safe`` is False where this call may not be repeated, although the operation may.
        """
        headers = self._key_of(operation)
        repeats = (operation.is_safe and is_safe) or headers is not None
        data = self.data(
            operation.method, operation.path(**(path or {})), repeats, query=query, body=body, content=content, headers=headers
        )
        return decode(answer, data)

    def data(
        self,
        method: str,
        path: str,
        is_safe: bool,
        *,
        query: Mapping[str, str | int | None] | None = None,
        body: object = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """The data of the answer as it is."""
        payload = json_bytes(body) if body is not None else content

        def attempt() -> Any:
            return data_of(self._send(method, path, query=query, content=payload, headers=headers), self.settings.notices)

        return self._repeated(attempt, is_safe=is_safe)

    def text(self, operation: Operation) -> str:
        """The text of an answer without an envelope."""

        def attempt() -> str:
            response = self._send(operation.method, operation.path())
            if response.is_success and not response.text.startswith('{"status":"error"'):
                return response.text
            return str(data_of(response, self.settings.notices))

        return self._repeated(attempt, is_safe=True)

    def document(self, operation: Operation) -> dict[str, Any]:
        """A JSON document without an envelope."""
        document = json.loads(self.text(operation))
        if not isinstance(document, dict):
            raise BadAnswerError(f"{operation.template} answered no object")
        return document

    def upload(
        self,
        operation: Operation,
        answer: type[T],
        form: UploadForm,
        on_progress: Callable[[UploadProgress], None] | None,
    ) -> T:
        """Sends a file piece by piece."""
        key = self._key_of(operation)

        def attempt() -> Any:
            file, size, is_ours = form.open()
            try:
                headers = {"content-type": form.content_type, **(key or {})}
                if size is not None:
                    headers["content-length"] = str(len(form.head) + size + len(form.tail))
                return data_of(
                    self._send(
                        operation.method,
                        operation.path(),
                        content=_pieces(form, file, size, on_progress),
                        headers=headers,
                    ),
                    self.settings.notices,
                )
            finally:
                if is_ours:
                    file.close()

        if not form.is_repeatable:
            try:
                return decode(answer, attempt())
            except QuiverError as error:
                error.attempts = 1
                raise
        return decode(answer, self._repeated(attempt, is_safe=operation.is_safe or key is not None))

    @contextmanager
    def stream(
        self,
        operation: Operation,
        *,
        path: Mapping[str, object] | None = None,
        query: Mapping[str, str | int | None] | None = None,
        body: object = None,
    ) -> Iterator[Iterator[bytes]]:
        """The pieces of a success as they come. Only its beginning is repeated: later, the caller has had some of it."""
        payload = None if body is None else json_bytes(body)

        def attempt() -> tuple[httpx.Response, bytes, Iterator[bytes]]:
            request = self._request(
                operation.method, operation.path(**(path or {})), query=query, content=payload, headers=self._credential()
            )
            try:
                response = self.http.send(request, stream=True)
                try:
                    return response, *_begun(response, self.settings.notices)
                except BaseException:
                    response.close()
                    raise
            except httpx.RequestError as error:
                raise failure_of(error) from error

        response, head, rest = self._repeated(attempt, is_safe=operation.is_safe)
        try:
            yield _joined(head, rest)
        except httpx.RequestError as error:
            raise failure_of(error) from error
        finally:
            response.close()

    def _key_of(self, operation: Operation) -> dict[str, str] | None:
        """The header of a request that the service does once; None where it has none."""
        return {"idempotency-key": str(uuid.uuid4())} if self.settings.idempotency_keys and operation.is_done_once else None

    def _repeated(self, attempt: Callable[[], T], *, is_safe: bool) -> T:
        started = time.monotonic()
        count = 1
        lost = False
        renewed = False
        while True:
            try:
                return attempt()
            except QuiverError as error:
                error.attempts = count
                error.after_lost_answer = lost
                if isinstance(error, UnauthorizedError) and self.settings.tokens is not None and not renewed:
                    # No attempt that the policy counts: nothing was wrong but the token.
                    self.settings.tokens.note_refused()
                    renewed = True
                    continue
                lost = lost or may_have_been_carried_out(error)
                delay = self.settings.retries.delay_before_next(error, attempt=count, is_safe=is_safe, elapsed_s=time.monotonic() - started)
                if delay is None:
                    raise
            sleep(delay)
            count += 1

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int | None] | None = None,
        content: bytes | Iterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        sent = {**(headers or {}), **self._credential()}
        try:
            return self.http.send(self._request(method, path, query=query, content=content, headers=sent))
        except httpx.RequestError as error:
            raise failure_of(error) from error

    def _credential(self) -> dict[str, str]:
        tokens = self.settings.tokens
        return {} if tokens is None else credential(None, tokens.next())

    def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int | None] | None = None,
        content: bytes | Iterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Request:
        sent = dict(self.settings.headers)
        if isinstance(content, bytes):
            sent["content-type"] = "application/json"
        sent.update(headers or {})
        given = {name: value for name, value in (query or {}).items() if value is not None}
        return self.http.build_request(
            method,
            self.settings.url + path,
            params=given or None,
            content=content,
            headers=sent,
            timeout=self.settings.timeout,
        )


def _pieces(
    form: UploadForm, file: IO[bytes], size: int | None, on_progress: Callable[[UploadProgress], None] | None
) -> Iterator[bytes]:
    yield form.head
    sent = 0
    while piece := read_piece(file, CHUNK_BYTES):
        yield piece
        sent += len(piece)
        if on_progress is not None:
            on_progress(UploadProgress(sent, size))
    yield form.tail


def _begun(response: httpx.Response, notices: Notices) -> tuple[bytes, Iterator[bytes]]:
    """What has come when it is known that the answer is a success, and the pieces after that. Raises the error of any other."""
    head = b""
    pieces = response.iter_bytes()
    for piece in pieces:
        head += piece
        if head.startswith(_SUCCESS_HEADS):
            return head, pieces
    envelope_data(head, notices, status=response.status_code, headers=response.headers)
    return head, pieces


def _joined(head: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    for piece in rest:
        yield piece
