"""One collection: writing, reading, searching."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Literal

from .. import operations
from ..batching import BATCH_BYTES, BATCH_ITEMS, Batch, Batcher, BulkProgress, BulkWriteResult, Tally
from ..bodies import (
    encoded,
    expiry_body,
    filters_body,
    given,
    is_conditional,
    item_body,
    items_body,
    listed_items,
    metadata_body,
    shown_item,
    text_body,
    unkept,
    vectors_body,
)
from ..errors import BadRequestError, InvalidValueError, NotFoundError, QuiverError, ValidationError
from ..export_stream import ExportReader
from ..frames import ArrayLike, FrameLike, ItemRows, rows_of_arrays, rows_of_frame
from ..ids import ExternalId, id_text, id_texts
from ..models import (
    BatchDeleted,
    BulkUpsertAnswer,
    CollectionInfo,
    CollectionStats,
    Counted,
    Description,
    DocumentAdded,
    DocumentDeleted,
    DocumentPage,
    DocumentUploaded,
    Filters,
    Hit,
    ItemChanged,
    ItemLike,
    Job,
    JudgedSet,
    Judgements,
    Metadata,
    Purge,
    RecallReport,
    Reshard,
    Sample,
    ScrollPage,
    Similarity,
    StoredDocument,
    StoredVector,
    TextAnalysis,
    Upserted,
    WhyReport,
)
from ..progress import shown_progress
from ..sent import KEPT
from ..tables import Rows
from ..uploads import UploadForm, UploadProgress, UploadSource
from ..vectors import VectorFormat, VectorLike
from .runtime import AsyncLanes, Source, each
from .searches import AsyncSearches

FETCH_LIMIT = 100
"""Ids of one fetch; the service's maximum."""
SCROLL_LIMIT = 1000
"""Vectors of one page when a whole collection is read; the service's maximum."""
SEARCH_PAGE = 100
"""Hits of one page of a search that is read to its end."""
FIRST_PAGE = "first"
"""The cursor of the first page."""

OnProgress = Callable[[BulkProgress], None]
OnRejected = Callable[[dict[str, Any], BadRequestError | ValidationError | InvalidValueError], None]
"""Takes an item that was not stored, and why; an ``InvalidValueError`` where it could not be sent."""


class AsyncCollection(AsyncSearches):
    """The way to one collection.

    Where a text may stand in the place of a vector, the service embeds it; a vector wins where both are given. ``filters``
    are pairs of metadata that must all match, with operators such as ``{"year": {"$gte": 1900}}``.

    Ids may be whole numbers or UUIDs, and values in metadata and filters those of numpy, pandas and Python's own types. What
    can't be sent is an ``InvalidValueError``, which names the item and the field.
    """

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    async def info(self) -> CollectionInfo:
        """The collection as it was made, and how many vectors it has; ``NotFoundError`` where there is none."""
        return await self._transport.call(operations.GET_COLLECTION, CollectionInfo, path=self._path)

    async def update(
        self,
        *,
        description: str | None = KEPT,
        ttl_seconds: int | None = KEPT,
        keyword_fields: Sequence[Mapping[str, Any]] | None = KEPT,
        synonyms: Sequence[Sequence[str] | Mapping[str, Any]] | None = KEPT,
        stop_words: Mapping[str, Sequence[str]] | None = KEPT,
    ) -> CollectionInfo:
        """Sets the description, the time to live, the keyword fields, the synonyms or the stop words, or clears them
        with None; what is left out stays.

        Other keyword fields hold once the job ``job_id`` of the answer is done (``client.jobs.wait``).
        """
        body = unkept(
            description=description, ttl_seconds=ttl_seconds, keyword_fields=keyword_fields, synonyms=synonyms, stop_words=stop_words
        )
        return await self._transport.call(operations.UPDATE_COLLECTION, CollectionInfo, path=self._path, body=body)

    async def set_quota(self, *, items: int | None = None, bytes: int | None = None) -> CollectionInfo:
        """Sets the most that the collection may hold; what is left out is not bounded, and nothing takes the quota away (admin)."""
        return await self._transport.call(operations.SET_QUOTA, CollectionInfo, path=self._path, body=given(items=items, bytes=bytes))

    async def drop(self, *, force: bool = False) -> None:
        """Deletes the collection with everything in it, for good; with ``force``, its aliases go with it."""
        query = {"force": "true"} if force else None
        await self._transport.call(operations.DELETE_COLLECTION, dict[str, Any], path=self._path, query=query)

    # Writing

    async def upsert(
        self,
        external_id: ExternalId,
        vector: VectorLike | None = None,
        *,
        text: str | None = None,
        metadata: Metadata | None = None,
        expires_at: datetime | str | None = KEPT,
        if_version: int | None = None,
        only_if: Literal["absent", "present"] | None = None,
        vector_model: str | None = None,
        include_timing: bool = False,
    ) -> Upserted:
        """Inserts or updates one item.

        At an update, metadata, text and expires_at that are left out keep what is stored; ``{}`` clears the metadata, and
        None the time at which the item expires. With
        ``if_version`` or ``only_if``, only if the stored item is as they say; otherwise ``VersionConflictError``. A
        ``vector_model`` other than the collection's is refused.
        """
        item = given(
            external_id=external_id,
            vector=vector,
            text=text,
            metadata=metadata,
            if_version=if_version,
            only_if=only_if,
            vector_model=vector_model,
        )
        body = item_body(item | unkept(expires_at=expires_at)) | given(include_timing=include_timing or None)
        return await self._transport.call(operations.UPSERT, Upserted, path=self._path, body=body)

    async def bulk_upsert(
        self, items: Iterable[ItemLike], *, on_error: Literal["fail", "skip"] | None = None, include_timing: bool = False
    ) -> BulkUpsertAnswer:
        """Inserts or updates up to 1,000 items in one request, all or none. For more see ``upsert_many``.

        With ``on_error="skip"``, items that are not valid or conflict are left out, and the results say why.
        """
        bodies = items_body(items)
        body = given(items=bodies, on_error=on_error, include_timing=include_timing or None)
        # Done twice, the second answer would tell of conflicts with what the first one wrote, and of no error.
        is_safe = on_error != "skip" or not any(map(is_conditional, bodies))
        return await self._transport.call(operations.BULK_UPSERT, BulkUpsertAnswer, path=self._path, body=body, is_safe=is_safe)

    async def upsert_many(
        self,
        items: Source[ItemLike],
        *,
        batch_items: int = BATCH_ITEMS,
        batch_bytes: int = BATCH_BYTES,
        in_flight: int = 4,
        on_progress: OnProgress | None = None,
        on_rejected: OnRejected | None = None,
    ) -> BulkWriteResult:
        """Inserts or updates any number of items, in requests of at most ``batch_items`` and ``batch_bytes``.

        ``in_flight`` requests are on their way at once, and no more items are taken from ``items`` than these need. An id
        that comes again is written after what came before it. ``on_progress`` hears of each request that was acknowledged.

        With ``on_rejected``, an item that the service refuses (400, 422), or that can't be sent, is handed over with the error
        and the others are written: a refused batch is halved until the item is alone. Without it, and for other errors,
        ``BulkWriteError`` is raised when a request fails for good; those in flight have ended then.
        """
        batcher = Batcher(batch_items=batch_items, batch_bytes=batch_bytes)
        tally = Tally(on_progress)
        write = partial(self._write_batch, tally, on_rejected)
        async with AsyncLanes(in_flight) as lanes:
            goes_on = True
            async for item in each(listed_items(items)):
                try:
                    batch = batcher.add(item)
                except InvalidValueError as error:
                    if on_rejected is None:
                        raise
                    tally.rejected_one(None)
                    on_rejected(shown_item(item), error)
                    continue
                if batch is not None:
                    goes_on = await self._start_batch(batch, tally, write, lanes)
                    if not goes_on:
                        break
            rest = batcher.rest()
            if goes_on and rest is not None:
                await self._start_batch(rest, tally, write, lanes)
        if lanes.failure is not None:
            raise lanes.failure
        return tally.result()

    async def upsert_frame(
        self,
        frame: FrameLike,
        *,
        id: str | None = None,
        vector: str | Sequence[str] | Literal[False] | None = None,
        text: str | Literal[False] | None = None,
        metadata: Sequence[str] | Literal[False] | None = None,
        batch_items: int = BATCH_ITEMS,
        batch_bytes: int = BATCH_BYTES,
        in_flight: int = 4,
        on_progress: OnProgress | None = None,
        on_rejected: OnRejected | None = None,
        show_progress: bool = False,
    ) -> BulkWriteResult:
        """Inserts or updates the rows of a frame of pandas or polars, a table of Arrow, or columns by their names.

        ``id`` names the column of the ids, or the index of a frame of pandas (``"index"`` where it has no name); ``vector`` a
        column of lists or arrays, or the columns that have a number each, as a list or as ``"dim_*"``; ``text`` the column of
        the texts. Left out, they are found by what columns are mostly called (``id``, ``embedding``, ``text``, …), and an index
        that does not merely count the rows is the ids; False: there is none. All other columns become metadata, or those
        that ``metadata`` names; a column ``metadata`` that holds mappings is the metadata itself. What is no value (None, NaN,
        NA, NaT) is left out. Numbers of 32 bits in metadata are the shortest decimals that are the same in 32 bits: 0.1. The
        numbers of rows that are left of a larger frame of pandas are an index that tells them apart, and so are ids;
        ``reset_index(drop=True)`` makes a mere count of them.

        The whole frame is checked before anything is sent, unless ``on_rejected`` takes bad rows. The result says how many
        were new (``inserted``) and how many replaced others (``updated``). ``show_progress`` shows how far it is.
        """
        rows = rows_of_frame(frame, id=id, vector=vector, text=text, metadata=metadata)
        return await self._upsert_rows(
            rows,
            on_progress,
            is_shown=show_progress,
            batch_items=batch_items,
            batch_bytes=batch_bytes,
            in_flight=in_flight,
            on_rejected=on_rejected,
        )

    async def upsert_arrays(
        self,
        ids: ArrayLike,
        vectors: ArrayLike | None = None,
        *,
        texts: ArrayLike | None = None,
        metadata: FrameLike | Sequence[Metadata | None] | None = None,
        batch_items: int = BATCH_ITEMS,
        batch_bytes: int = BATCH_BYTES,
        in_flight: int = 4,
        on_progress: OnProgress | None = None,
        on_rejected: OnRejected | None = None,
        show_progress: bool = False,
    ) -> BulkWriteResult:
        """Inserts or updates items by their ids, vectors (an array with a row each, or a list), texts and metadata.

        ``metadata`` is a list of mappings, a frame, or a mapping of columns. All have the same length. See ``upsert_frame``.
        """
        rows = rows_of_arrays(ids, vectors, texts=texts, metadata=metadata)
        return await self._upsert_rows(
            rows,
            on_progress,
            is_shown=show_progress,
            batch_items=batch_items,
            batch_bytes=batch_bytes,
            in_flight=in_flight,
            on_rejected=on_rejected,
        )

    async def _upsert_rows(
        self, rows: ItemRows, on_progress: OnProgress | None, *, is_shown: bool, on_rejected: OnRejected | None, **sizes: int
    ) -> BulkWriteResult:
        if on_rejected is None:
            rows.check()
        with shown_progress(len(rows), on_progress, is_shown=is_shown) as tell:
            return await self.upsert_many(rows, on_progress=tell, on_rejected=on_rejected, **sizes)

    async def _start_batch(self, batch: Batch, tally: Tally, write: Callable[[Batch], Awaitable[None]], lanes: AsyncLanes) -> bool:
        if tally.overlaps(batch):
            await lanes.idle()
        tally.sent(batch)
        return await lanes.start(partial(write, batch))

    async def _write_batch(self, tally: Tally, on_rejected: OnRejected | None, batch: Batch) -> None:
        try:
            answer = await self._transport.call(operations.BULK_UPSERT, BulkUpsertAnswer, path=self._path, content=batch.body())
        except (BadRequestError, ValidationError) as error:
            if on_rejected is None:
                raise batch.error(error, tally.written) from error
            if len(batch.ids) == 1:
                tally.rejected_one(batch)
                on_rejected(json.loads(batch.pieces[0]), error)
                return
            for half in batch.halves():
                await self._write_batch(tally, on_rejected, half)
        except QuiverError as error:
            raise batch.error(error, tally.written) from error
        else:
            tally.acknowledged(batch, answer)

    async def patch(
        self,
        external_id: ExternalId,
        *,
        metadata: Metadata | None = None,
        metadata_mode: Literal["merge", "replace"] | None = None,
        text: str | None = None,
        embed: bool | None = None,
        vector: VectorLike | None = None,
        expires_at: datetime | str | None = KEPT,
        if_version: int | None = None,
        vector_model: str | None = None,
    ) -> ItemChanged:
        """Changes parts of one item, and leaves the others; ``NotFoundError`` where there is none.

        ``metadata`` is a JSON Merge Patch: members are put, objects merged, and what is None is taken away; or all that the
        item has afterwards, with ``metadata_mode="replace"``. With a new text, the vector is made anew if it was made of the
        former one; with ``embed=True`` it always is, with ``embed=False`` it stays. With ``if_version``, only if the item has
        this version; otherwise ``VersionConflictError``.
        """
        body = given(
            metadata=metadata_body(metadata),
            metadata_mode=metadata_mode,
            text=text_body(text),
            embed=embed,
            vector=encoded(vector),
            if_version=if_version,
            vector_model=vector_model,
        ) | expiry_body(expires_at=expires_at)
        return await self._transport.call(operations.PATCH, ItemChanged, path=self._item(external_id), body=body)

    async def update_by_filter(
        self,
        filters: Filters,
        *,
        set: Metadata | None = None,
        unset: Sequence[str] | None = None,
        expires_at: datetime | str | None = KEPT,
    ) -> int:
        """Sets and takes away members of the metadata of everything that matches; answers how many that were.

        Each is changed once. Repeated after an answer that was lost, it counts what still matched.
        """
        changes = given(set=metadata_body(set, "set"), unset=None if unset is None else list(unset)) | expiry_body(expires_at=expires_at)
        body = given(filters=filters_body(filters)) | changes
        data = await self._transport.call(operations.UPDATE_BY_FILTER, dict[str, int], path=self._path, body=body)
        return data["updated_count"]

    async def delete(self, external_id: ExternalId, *, if_version: int | None = None) -> None:
        """Deletes one item; ``NotFoundError`` where there is none.

        With ``if_version``, only if it has this version; otherwise, and where there is none, ``VersionConflictError``.
        """
        path = self._item(external_id)
        try:
            await self._transport.call(operations.DELETE, dict[str, Any], path=path, query={"if_version": if_version})
        except NotFoundError as error:
            # An attempt whose answer was lost may be what deleted it.
            if not error.after_lost_answer:
                raise

    async def delete_batch(self, external_ids: Sequence[ExternalId], *, if_versions: Sequence[int | None] | None = None) -> BatchDeleted:
        """Deletes up to 1,000 items; ids that do not exist are skipped.

        ``if_versions`` are the versions that they must have, in the order of the ids; None: any.
        """
        body = given(external_ids=id_texts(external_ids, "external_ids"), if_versions=None if if_versions is None else list(if_versions))
        return await self._transport.call(operations.DELETE_BATCH, BatchDeleted, path=self._path, body=body)

    async def delete_many(self, external_ids: Iterable[ExternalId], *, batch_items: int = BATCH_ITEMS) -> int:
        """Deletes any number of items, in requests of at most ``batch_items``; answers how many were there."""
        ids = list(dict.fromkeys(id_texts(external_ids, "external_ids")))
        count = 0
        for start in range(0, len(ids), batch_items):
            count += (await self.delete_batch(ids[start : start + batch_items])).deleted_count
        return count

    async def delete_by_filter(self, filters: Filters) -> int:
        """Deletes everything that matches; answers how many that were."""
        body = given(filters=filters_body(filters))
        data = await self._transport.call(operations.DELETE_BY_FILTER, dict[str, int], path=self._path, body=body)
        return data["deleted_count"]

    async def upload_document(
        self,
        file: UploadSource,
        *,
        filename: str | None = None,
        include_timing: bool = False,
        expires_at: datetime | str | None = KEPT,
        on_progress: Callable[[UploadProgress], None] | None = None,
    ) -> DocumentUploaded:
        """Uploads a .txt file, which is split, embedded and stored as chunks.

        ``file`` is a path, bytes, or an open binary file; it is sent piece by piece. ``on_progress`` hears how much was sent.
        The chunks expire at ``expires_at``; by default as the collection says.
        """
        fields = {"collection_name": self.name, **({"include_timing": "true"} if include_timing else {})}
        fields |= {name: value for name, value in expiry_body(expires_at=expires_at).items() if value is not None}
        form = UploadForm(file, filename=filename, fields=fields)
        return await self._transport.upload(operations.UPLOAD, DocumentUploaded, form, on_progress)

    # Documents

    async def add_document(
        self,
        file: UploadSource | None = None,
        *,
        text: str | None = None,
        type: str | None = None,
        filename: str | None = None,
        document_key: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        chunking: Mapping[str, Any] | None = None,
        on_exists: Literal["replace", "skip", "error"] | None = None,
        expires_at: datetime | str | None = KEPT,
        fingerprint: str | None = None,
        text_in_metadata: bool = False,
        wait: bool = False,
        on_progress: Callable[[UploadProgress], None] | None = None,
    ) -> DocumentAdded:
        """Adds a document, or replaces the one with its ``document_key``: a job parses, cuts, embeds and stores it.

        ``file`` is a path, bytes, or an open binary file of a type that ``filename`` tells by its ending: txt, md, html, pdf,
        docx, csv or jsonl; or ``text`` is the document, of a ``type``. The answer comes once the service has it on stable
        storage; ``jobs.wait(answer.job_id)`` waits until it can be found, ``wait=True`` for some seconds of that.
        ``chunking`` is as ``{"strategy": "headings", "size": 800}``; each chunk gets ``metadata``. ``fingerprint`` is your own
        mark of what you send; the document has it.
        """
        if (file is None) == (text is None):
            raise InvalidValueError("is to be given, or text, and not both", field="file")
        told = {
            "collection_name": self.name,
            **given(document_key=document_key, on_exists=on_exists, fingerprint=fingerprint),
            **{name: value for name, value in expiry_body(expires_at=expires_at).items() if value is not None},
        }
        if file is None:
            body = {
                **told,
                **given(text=text, type=type, metadata=metadata and dict(metadata), chunking=chunking and dict(chunking)),
                "text_in_metadata": text_in_metadata,
                "wait": wait,
            }
            return await self._transport.call(operations.ADD_DOCUMENT, DocumentAdded, body=body)
        told |= {name: json.dumps(value) for name, value in (("metadata", metadata), ("chunking", chunking)) if value}
        told |= {name: "true" for name, value in (("text_in_metadata", text_in_metadata), ("wait", wait)) if value}
        form = UploadForm(file, filename=filename, fields=told)
        return await self._transport.upload(operations.ADD_DOCUMENT, DocumentAdded, form, on_progress)

    async def document_page(self, *, limit: int | None = None, cursor: str | None = None) -> DocumentPage:
        """A page of documents, in the order of their first upload; ``cursor`` of the next is ``next_cursor``."""
        query = {"limit": limit, "cursor": cursor}
        return await self._transport.call(operations.LIST_DOCUMENTS, DocumentPage, path=self._path, query=query)

    async def documents(self) -> AsyncIterator[StoredDocument]:
        """All documents, a page at a time."""
        cursor: str | None = None
        while True:
            page = await self.document_page(cursor=cursor)
            for document in page.documents:
                yield document
            cursor = page.next_cursor
            if cursor is None:
                return

    async def get_document(self, document_id: str) -> StoredDocument:
        """What is stored of a document; ``NotFoundError`` where there is none."""
        path = {**self._path, "document_id": document_id}
        return await self._transport.call(operations.GET_DOCUMENT, StoredDocument, path=path)

    async def delete_document(self, document_id: str) -> DocumentDeleted:
        """Deletes a document with all of its chunks; ``NotFoundError`` where there is none."""
        path = {**self._path, "document_id": document_id}
        return await self._transport.call(operations.DELETE_DOCUMENT, DocumentDeleted, path=path)

    # Reading

    async def get(self, external_id: ExternalId, *, vector_format: VectorFormat | None = None) -> StoredVector:
        """One item; ``NotFoundError`` where there is none."""
        query = {"vector_format": self._format(vector_format)}
        return await self._transport.call(operations.GET, StoredVector, path=self._item(external_id), query=query)

    async def fetch(
        self, ids: Iterable[ExternalId], *, include_vectors: bool = True, vector_format: VectorFormat | None = None
    ) -> Rows[StoredVector]:
        """Items by their ids, in the order asked; those that do not exist are left out. Any number, in requests of 100."""
        asked = id_texts(ids)
        found: Rows[StoredVector] = Rows()
        for start in range(0, len(asked), FETCH_LIMIT):
            body = {
                "ids": asked[start : start + FETCH_LIMIT],
                "include_vectors": include_vectors,
                "vector_format": self._format(vector_format),
            }
            data = await self._transport.call(operations.FETCH, dict[str, list[StoredVector]], path=self._path, body=body)
            found.extend(data["vectors"])
        return found

    async def scroll_page(
        self,
        *,
        cursor: str | None = None,
        limit: int = 100,
        filters: Filters | None = None,
        order_by: Sequence[Mapping[str, Any]] | None = None,
        include_vectors: bool = True,
        vector_format: VectorFormat | None = None,
    ) -> ScrollPage:
        """One page of the collection, in insertion order or that of ``order_by``. For all of them see ``scroll``."""
        body = given(
            cursor=cursor,
            limit=limit,
            filters=filters_body(filters),
            order_by=order_by,
            include_vectors=include_vectors,
            vector_format=self._format(vector_format),
        )
        return await self._transport.call(operations.SCROLL, ScrollPage, path=self._path, body=body)

    async def search_all(self, vector: VectorLike | None = None, *, k: int = SEARCH_PAGE, **options: Any) -> AsyncIterator[Hit]:
        """Every hit of a search, best first, page by page: of what has not changed since the first page, none twice.

        ``options`` are those of ``search``, but for ``offset``, ``cursor`` and groups. The service sets a time for all pages
        (CURSOR_SECONDS).
        """
        cursor: str | None = FIRST_PAGE
        while cursor is not None:
            page = await self.search(vector, k=k, cursor=cursor, **options)
            for hit in page.results:
                yield hit
            cursor = page.next_cursor

    async def scroll(
        self,
        *,
        filters: Filters | None = None,
        order_by: Sequence[Mapping[str, Any]] | None = None,
        include_vectors: bool = True,
        limit: int = SCROLL_LIMIT,
        vector_format: VectorFormat | None = None,
    ) -> AsyncIterator[StoredVector]:
        """All items that match, in insertion order or that of ``order_by``, page by page; the collection may change meanwhile."""
        cursor: str | None = None
        while True:
            page = await self.scroll_page(
                cursor=cursor,
                limit=limit,
                filters=filters,
                order_by=order_by,
                include_vectors=include_vectors,
                vector_format=vector_format,
            )
            for item in page.vectors:
                yield item
            cursor = page.next_cursor
            if cursor is None:
                return

    async def export(self, *, limit: int = 100_000, vector_format: VectorFormat | None = None) -> AsyncIterator[StoredVector]:
        """The first ``limit`` vectors, at most 100,000, in insertion order, one by one while they come.

        It is one answer, so read it without long pauses; ``scroll`` goes through a collection of any size.
        """
        query = {"limit": limit, "vector_format": self._format(vector_format)}
        reader = ExportReader()
        async with self._transport.stream(operations.EXPORT, path=self._path, query=query) as pieces:
            async for piece in pieces:
                for item in reader.feed(piece):
                    yield item
        reader.end()

    async def sample(
        self,
        size: int = 1000,
        *,
        seed: int = 0,
        filters: Filters | None = None,
        metadata_fields: Sequence[str] | None = None,
        include_vectors: bool = False,
        projection_dimensions: int | None = None,
    ) -> Sample:
        """A uniform sample of what matches, which follows from the seed and the ids.

        ``projection_dimensions`` also shows the vectors in so few dimensions, by principal component analysis.
        """
        body = given(
            size=size,
            seed=seed,
            filters=filters_body(filters),
            metadata_fields=None if metadata_fields is None else list(metadata_fields),
            include_vectors=include_vectors,
            projection=None if projection_dimensions is None else {"method": "pca", "dimensions": projection_dimensions},
        )
        return await self._transport.call(operations.SAMPLE, Sample, path=self._path, body=body)

    async def describe(self, *, filters: Filters | None = None, looked_at: int = 500, samples: int = 3) -> Description:
        """What fields the items have, and what is in them, by a uniform sample of ``looked_at`` items."""
        body = given(filters=filters_body(filters), looked_at=looked_at, samples=samples)
        return await self._transport.call(operations.DESCRIBE, Description, path=self._path, body=body)

    # Measuring

    async def count(self, filters: Filters | None = None) -> int:
        """How many items pass the filters, exactly; without filters, all."""
        answer = await self._transport.call(operations.COUNT, Counted, path=self._path, body=given(filters=filters_body(filters)))
        return answer.count

    async def analyse(self, text: str, *, as_: Literal["document", "query"] = "document", field: str | None = None) -> TextAnalysis:
        """How keyword search cuts a text into terms: all that are stored, or those that a query looks for. ``field``: as this one
        of the ``keyword_fields``.
        """
        body = given(text=text, field=field) | {"as": as_}
        return await self._transport.call(operations.ANALYSE, TextAnalysis, path=self._path, body=body)

    async def list_judgements(self) -> list[Judgements]:
        """The judgements of the collection, by name."""
        return (await self._transport.call(operations.LIST_JUDGEMENTS, dict[str, list[Judgements]], path=self._path))["judgements"]

    async def get_judgements(self, name: str) -> JudgedSet:
        """Queries with the items that answer them; a ``NotFoundError`` without them."""
        return await self._transport.call(operations.GET_JUDGEMENTS, JudgedSet, path=self._path | {"id": name})

    async def put_judgements(self, name: str, queries: Sequence[Mapping[str, Any]]) -> Judgements:
        """Keeps queries with the items that answer them, such as ``{"query": "rivers", "relevant": {"a-1": 2}}``.

        They take the place of what was there under the name.
        """
        return await self._transport.call(operations.PUT_JUDGEMENTS, Judgements, path=self._path | {"id": name}, body=list(queries))

    async def delete_judgements(self, name: str) -> None:
        """Deletes judgements."""
        await self._transport.call(operations.DELETE_JUDGEMENTS, dict[str, Any], path=self._path | {"id": name})

    async def evaluate(self, name: str, variants: Sequence[Mapping[str, Any]], *, k: int | None = None) -> Job:
        """Begins a job that compares searches by judged queries; ``client.jobs.wait`` answers it with its ``result``.

        ``variants``: options of ``query``, such as ``[{"alpha": 1}, {"alpha": 0.5}]``. ``k``: how many hits count.
        """
        body = given(name=name, variants=list(variants), k=k)
        return await self._transport.call(operations.EVALUATE, Job, path=self._path, body=body)

    async def why(
        self, external_id: ExternalId, *, vector: VectorLike | None = None, filters: Filters | None = None, **options: Any
    ) -> WhyReport:
        """Why a search does not find an item: one like ``search``, with ``query_text`` a hybrid one.

        ``options``: what these take, such as ``text``, ``k`` and ``alpha``.
        """
        body = given(external_id=id_text(external_id), vector=encoded(vector), filters=filters_body(filters), **options)
        return await self._transport.call(operations.WHY, WhyReport, path=self._path, body=body)

    async def similarity(self, id1: ExternalId, id2: ExternalId) -> Similarity:
        """The cosine of two stored vectors."""
        return await self._transport.call(
            operations.SIMILARITY, Similarity, path=self._path, query={"id1": id_text(id1, "id1"), "id2": id_text(id2, "id2")}
        )

    async def recall_check(
        self,
        *,
        queries: Iterable[VectorLike] | None = None,
        samples: int | None = None,
        seed: int = 1,
        k: int = 10,
        filters: Filters | None = None,
    ) -> RecallReport:
        """Measures the recall: calibrated and exact searches side by side, for given vectors or for some of the collection."""
        body = given(queries=vectors_body(queries), samples=samples, seed=seed, k=k, filters=filters_body(filters))
        return await self._transport.call(operations.RECALL_CHECK, RecallReport, path=self._path, body=body)

    # Its index and shards

    async def stats(self) -> CollectionStats:
        """What the collection takes, and how far its index is built."""
        return await self._transport.call(operations.STATS, CollectionStats, path=self._path)

    async def optimize(self) -> CollectionStats:
        """Has the best index made of what is there; ``stats`` shows how far it is."""
        return await self._transport.call(operations.OPTIMIZE, CollectionStats, path=self._path)

    async def purge(self) -> Purge:
        """Rewrites the files, so that nothing of deleted and expired items is in them; ``purge_state`` shows how far it is."""
        return await self._transport.call(operations.PURGE, Purge, path=self._path)

    async def purge_state(self) -> Purge:
        """How far the purge is."""
        return await self._transport.call(operations.PURGE_STATE, Purge, path=self._path)

    async def reshard(self, shards: int) -> Reshard:
        """Begins to change the number of shards, while the collection is read and written."""
        return await self._transport.call(operations.RESHARD, Reshard, path=self._path, body={"shards": shards})

    async def cancel_reshard(self) -> Reshard:
        """Gives up a change of the number of shards."""
        return await self._transport.call(operations.CANCEL_RESHARD, Reshard, path=self._path)

    async def reembed(
        self,
        model: str,
        *,
        dtype: str | None = None,
        query_prefix: str | None = None,
        passage_prefix: str | None = None,
        truncate_dim: int | None = None,
        dim: int | None = None,
        template: str | None = None,
        on_no_text: Literal["fail", "drop"] | None = None,
        compare: Mapping[str, Any] | None = None,
        switch: Literal["manual", "auto"] | None = None,
        keep_hours: int | None = None,
    ) -> Job:
        """Begins a job that embeds all texts anew with another model.

        Once it is at its step ``ready``, its ``result`` says how the vectors differ: ``client.jobs.switch`` lets the
        new ones take over, ``client.jobs.back`` goes back. ``dim`` is for a model that makes any dimension.
        """
        body = given(
            model=model,
            dtype=dtype,
            query_prefix=query_prefix,
            passage_prefix=passage_prefix,
            truncate_dim=truncate_dim,
            dim=dim,
            template=template,
            on_no_text=on_no_text,
            compare=compare,
            switch=switch,
            keep_hours=keep_hours,
        )
        return await self._transport.call(operations.REEMBED, Job, path=self._path, body=body)

    def _format(self, asked: VectorFormat | None) -> Literal["array", "base64"]:
        return asked or self._transport.settings.vector_format
