"""What can go wrong, as exceptions. All of them are a ``QuiverError``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "ApiError",
    "BadAnswerError",
    "BadRequestError",
    "BulkWriteError",
    "ConflictError",
    "ForbiddenError",
    "InvalidValueError",
    "LocalServiceError",
    "NotFoundError",
    "QuiverConnectionError",
    "QuiverError",
    "QuiverTimeoutError",
    "QuiverWarning",
    "RateLimitError",
    "ServerError",
    "UnauthorizedError",
    "ValidationError",
    "VersionConflict",
    "VersionConflictError",
]


class QuiverWarning(UserWarning):
    """The service did what it was asked and doubts that it was meant so, such as a field that it does not know."""


class QuiverError(Exception):
    """Base of everything that this package raises for a call that failed."""

    attempts: int = 1
    """How often the call was sent, repetitions included."""
    after_lost_answer: bool = False
    """Whether an earlier attempt may have been carried out, although its answer was lost."""


class LocalServiceError(QuiverError):
    """A service of one's own could not be started; the message says why, and whose the folder is where it is in use."""


class ApiError(QuiverError):
    """The service answered with an error; its subclasses say which, by the code of the envelope."""

    def __init__(self, code: int, message: str, *, request_id: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        """The code of the envelope (``error.code``); the HTTP status is 200 whatever it says."""
        self.message = message
        self.request_id = request_id
        """Stands in the log of the service, too."""
        self.retry_after = retry_after
        """Seconds after which the service would have the call again; None where it does not say."""

    def __str__(self) -> str:
        where = "" if self.request_id is None else f" (request {self.request_id})"
        return f"{self.code}: {self.message}{where}"

    def __reduce__(self) -> tuple[object, ...]:
        # With what subclasses and the client have put beside.
        return _api_error_from, (type(self), self.code, self.message, dict(vars(self)))


class BadRequestError(ApiError):
    """400: an invalid parameter, a dimension mismatch, or more than a limit allows."""


class UnauthorizedError(ApiError):
    """401: the API key is missing or not valid."""


class ForbiddenError(ApiError):
    """403: the API key lacks the role for this."""


class NotFoundError(ApiError):
    """404: the collection, vector, key, node or path does not exist."""


class ConflictError(ApiError):
    """409: it exists already, or stands against what is there."""


@dataclass(frozen=True)
class VersionConflict:
    """An item that is not as a conditional write expects."""

    external_id: str
    version: int | None
    """The version that it has; None where it does not exist."""


class VersionConflictError(ConflictError):
    """409 of a conditional write (``if_version``, ``only_if``, ``if_versions``): an item is not as it expects.

    Nothing was done but what ``written`` names. With ``after_lost_answer`` it may be this very call that changed the item:
    read it to tell.
    """

    def __init__(
        self,
        code: int,
        message: str,
        *,
        request_id: str | None = None,
        retry_after: float | None = None,
        conflicts: Sequence[VersionConflict] = (),
        written: Sequence[str] = (),
    ) -> None:
        super().__init__(code, message, request_id=request_id, retry_after=retry_after)
        self.conflicts = list(conflicts)
        """The items that are not as expected, with their present versions; at most 100."""
        self.written = list(written)
        """Ids of other shards that were written all the same, because another change came in between; at most 100."""


class ValidationError(ApiError):
    """422: the body does not fit the schema; the message names the field."""


class RateLimitError(ApiError):
    """429: too many requests of this key, or the service is busy. ``retry_after`` says how long to wait."""


class ServerError(ApiError):
    """500: the service could not do it; the message says whether the call may be repeated."""


_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequestError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    422: ValidationError,
    429: RateLimitError,
    500: ServerError,
}


def api_error(
    code: int,
    message: str,
    *,
    request_id: str | None = None,
    retry_after: float | None = None,
    conflicts: object = None,
    written: object = None,
) -> ApiError:
    """The exception for an envelope's error; an unknown code becomes a plain ``ApiError``."""
    if code == 409 and isinstance(conflicts, list):
        found = [VersionConflict(str(one.get("external_id")), one.get("version")) for one in conflicts if isinstance(one, dict)]
        ids = [str(one) for one in written] if isinstance(written, list) else []
        return VersionConflictError(code, message, request_id=request_id, retry_after=retry_after, conflicts=found, written=ids)
    return _BY_CODE.get(code, ApiError)(code, message, request_id=request_id, retry_after=retry_after)


def _api_error_from(kind: type[ApiError], code: int, message: str, state: dict[str, Any]) -> ApiError:
    error = kind(code, message)
    vars(error).update(state)
    return error


class QuiverConnectionError(QuiverError):
    """The service could not be reached, or the connection broke before its answer was there."""

    def __init__(self, message: str, *, may_have_arrived: bool = False) -> None:
        super().__init__(message)
        self.may_have_arrived = may_have_arrived
        """Whether the call may have arrived: then it may have been carried out."""


class QuiverTimeoutError(QuiverConnectionError):
    """The service took longer than the client's timeout."""


class BadAnswerError(QuiverError):
    """What answered is not Quiver's API, such as a proxy's error page, or an answer lacks what it must hold."""

    def __init__(self, message: str, *, http_status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.http_status = http_status
        self.retry_after = retry_after


class InvalidValueError(QuiverError, ValueError):
    """Something that was given can't be sent, and was not. The message names the item and the field."""

    code = 422
    """As the service would have it."""

    def __init__(self, reason: str, *, field: str = "", position: int | None = None, external_id: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.field = field
        """Its place within the item or request, such as ``metadata.tags[2]``."""
        self.position = position
        """The number of the item among those given, from 0; None where one was given."""
        self.external_id = external_id

    @property
    def message(self) -> str:
        """The place and the reason."""
        places = []
        if self.position is not None:
            places.append(f"item {self.position}" + ("" if self.external_id is None else f" ({self.external_id!r})"))
        elif self.external_id is not None:
            places.append(f"{self.external_id!r}")
        if self.field:
            places.append(self.field)
        return f"{', '.join(places)}: {self.reason}" if places else self.reason

    def __str__(self) -> str:
        return self.message

    def below(self, part: str | int) -> InvalidValueError:
        """The same error with the name or number of what its place is in."""
        if part == "":
            return self
        inner = self.field if self.field.startswith("[") or not self.field else f".{self.field}"
        self.field = f"[{part}]{inner}" if isinstance(part, int) else f"{part}{inner}"
        return self

    def of_item(self, position: int | None, external_id: str | None) -> InvalidValueError:
        """The same error with the item that it is about."""
        self.position, self.external_id = position, external_id
        return self


class BulkWriteError(QuiverError):
    """``upsert_many`` gave up at a batch that failed; its ``__cause__`` says why.

    Batches that were in flight have ended when this is raised. Upserts can be repeated, so running the same load again
    is safe.
    """

    def __init__(self, message: str, *, written: int, failed_ids: Sequence[str]) -> None:
        super().__init__(message)
        self.written = written
        """Items that the service acknowledged."""
        self.failed_ids = list(failed_ids)
        """Ids of the batch that failed."""
