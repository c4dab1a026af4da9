"""Cutting many items into requests, and counting what becomes of them."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .bodies import item_body, json_bytes
from .errors import BulkWriteError, QuiverError
from .ids import CallIds
from .models import BulkUpsertAnswer, ItemLike

__all__ = ["BATCH_BYTES", "BATCH_ITEMS", "BulkProgress", "BulkWriteResult"]

BATCH_ITEMS = 1000
"""Items of one request at most, as the service has it by default (MAX_BATCH_SIZE)."""
BATCH_BYTES = 4 * 1024 * 1024
"""Bytes of one request, of the 64 MiB that the service takes by default: larger ones are not faster."""

_HEAD, _TAIL = b'{"items":[', b"]}"
_NAMED_ITEM = re.compile(r"\bitems\[(\d+)\]")
"""How the service names an item of a request."""


@dataclass(frozen=True)
class BulkProgress:
    """How far a bulk write is: what the service acknowledged."""

    items: int
    bytes: int
    rejected: int
    elapsed_s: float


@dataclass(frozen=True)
class BulkWriteResult:
    """What a bulk write did."""

    inserted: int
    updated: int
    rejected: int
    requests: int
    bytes: int
    elapsed_s: float

    @property
    def written(self) -> int:
        """Items that were acknowledged."""
        return self.inserted + self.updated


@dataclass
class Batch:
    """Items that go in one request, as JSON."""

    ids: list[str] = field(default_factory=list)
    pieces: list[bytes] = field(default_factory=list)
    size: int = len(_HEAD) + len(_TAIL)
    start: int = 0
    """The number of its first item in the call."""

    def body(self) -> bytes:
        """The body of the request."""
        return _HEAD + b",".join(self.pieces) + _TAIL

    def halves(self) -> tuple[Batch, Batch]:
        """The same items in two batches."""
        middle = len(self.ids) // 2
        first = _batch(self.ids[:middle], self.pieces[:middle], self.start)
        return first, _batch(self.ids[middle:], self.pieces[middle:], self.start + middle)

    def error(self, cause: QuiverError, written: int) -> BulkWriteError:
        """That the batch was not stored."""
        message = f"a batch of {len(self.ids)} items, {self.ids[0]!r} the first of them, was not stored: {cause}{self._meant(str(cause))}"
        return BulkWriteError(message, written=written, failed_ids=self.ids)

    def _meant(self, message: str) -> str:
        """The item of the call that a message of the service names by its place in the request."""
        found = _NAMED_ITEM.search(message)
        place = len(self.ids) if found is None else int(found[1])
        return "" if place >= len(self.ids) else f" (items[{place}] is {self.ids[place]!r}, item {self.start + place} of the call)"


def _batch(ids: list[str], pieces: list[bytes], start: int) -> Batch:
    return Batch(ids, pieces, len(_HEAD) + len(_TAIL) + sum(len(piece) + 1 for piece in pieces), start)


class Batcher:
    """Collects items into batches of at most so many items and bytes; an item that is larger goes alone."""

    def __init__(self, *, batch_items: int, batch_bytes: int) -> None:
        if batch_items < 1 or batch_bytes < 1:
            raise ValueError("a batch needs room for an item: batch_items and batch_bytes are 1 or more")
        self._items_max = batch_items
        self._bytes_max = batch_bytes
        self._batch = Batch()
        self._ids = CallIds()
        self._count = 0

    def add(self, item: ItemLike) -> Batch | None:
        """Takes an item; answers the batch that was full without it. ``InvalidValueError`` for one that can't be sent."""
        position = self._count
        self._count += 1
        body = item_body(item, position, self._ids)
        piece = json_bytes(body)
        batch = self._batch
        full = None
        if batch.ids and (len(batch.ids) >= self._items_max or batch.size + len(piece) + 1 > self._bytes_max):
            full, batch = batch, Batch()
            self._batch = batch
        if not batch.ids:
            batch.start = position
        batch.ids.append(body["external_id"])
        batch.pieces.append(piece)
        batch.size += len(piece) + 1
        return full

    def rest(self) -> Batch | None:
        """The last batch; None when nothing is left."""
        batch, self._batch = self._batch, Batch()
        return batch if batch.ids else None


class Tally:
    """Counts acknowledged batches, and knows which ids are on their way."""

    def __init__(self, on_progress: Callable[[BulkProgress], None] | None) -> None:
        self._on_progress = on_progress
        self._started = time.monotonic()
        # The sync form's lanes are threads.
        self._lock = threading.Lock()
        self._ids_in_flight: set[str] = set()
        self.inserted = 0
        self.updated = 0
        self.rejected = 0
        self.requests = 0
        self.bytes = 0

    def overlaps(self, batch: Batch) -> bool:
        """Whether an id of the batch is on its way: then it must wait, as requests overtake each other."""
        with self._lock:
            return not self._ids_in_flight.isdisjoint(batch.ids)

    def sent(self, batch: Batch) -> None:
        """The batch is on its way."""
        with self._lock:
            self._ids_in_flight.update(batch.ids)

    def acknowledged(self, batch: Batch, answer: BulkUpsertAnswer) -> None:
        """The batch is stored."""
        inserted = sum(result.status == "inserted" for result in answer.results)
        with self._lock:
            self.inserted += inserted
            self.updated += len(answer.results) - inserted
            self.requests += 1
            self.bytes += batch.size
            self._ids_in_flight.difference_update(batch.ids)
            if self._on_progress is not None:
                self._on_progress(BulkProgress(items=self.written, bytes=self.bytes, rejected=self.rejected, elapsed_s=self._elapsed()))

    def rejected_one(self, batch: Batch | None) -> None:
        """The one item of the batch was refused; None: an item that could not be sent."""
        with self._lock:
            self.rejected += 1
            if batch is not None:
                self._ids_in_flight.difference_update(batch.ids)

    @property
    def written(self) -> int:
        """Items that were acknowledged."""
        return self.inserted + self.updated

    def result(self) -> BulkWriteResult:
        """The sums at the end."""
        return BulkWriteResult(self.inserted, self.updated, self.rejected, self.requests, self.bytes, self._elapsed())

    def _elapsed(self) -> float:
        return time.monotonic() - self._started
