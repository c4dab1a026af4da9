"""A collection of Quiver as Haystack's document store."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from haystack import Document, default_from_dict, default_to_dict
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.utils import Secret

from quiver_client import (
    AsyncCollection,
    AsyncQuiverClient,
    Collection,
    ConflictError,
    Item,
    NotFoundError,
    QuiverClient,
    StoredVector,
    ValidationError,
)
from quiver_client.models import Hit, HybridHit

from .documents import WITHOUT_EMBEDDING, document_from_stored, item_from_document
from .field_values import FIELDS_MAX, FieldRange, FieldTypes, FieldValues, bare
from .filters import META, filters_from_haystack

Filters = Mapping[str, Any]

_EVERYTHING: Filters = {"meta": {"$exists": True}}
_WITH_EMBEDDING: Filters = {WITHOUT_EMBEDDING: {"$exists": False}}


class QuiverDocumentStore:
    """Documents in a collection of Quiver, found by meaning, by words, or both.

    ``url`` is taken from ``QUIVER_URL`` where it is left out. The collection is created at first use, with
    ``embedding_dim`` dimensions; ``collection_options`` are those of ``create_collection`` in ``quiver_client``, such as
    ``{"language": "en"}``.

    ``write_documents`` without a policy fails at ids that exist. With that and with ``SKIP`` the store looks for the ids
    first, and then writes: of two writers at the same moment, both may find an id free.
    """

    def __init__(
        self,
        *,
        url: str | None = None,
        api_key: Secret | None = Secret.from_env_var("QUIVER_API_KEY", strict=False),  # noqa: B008
        collection_name: str = "haystack",
        embedding_dim: int = 768,
        distance_metric: str = "cosine",
        collection_options: dict[str, Any] | None = None,
    ) -> None:
        self.url = url
        self.api_key = api_key
        self.collection_name = collection_name
        self.embedding_dim = embedding_dim
        self.distance_metric = distance_metric
        self.collection_options = collection_options
        self._client: QuiverClient | None = None
        self._is_there = False
        # A client's connections belong to the event loop that opened them.
        self._clients_of_loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncQuiverClient] = weakref.WeakKeyDictionary()

    def to_dict(self) -> dict[str, Any]:
        """For pipelines that are stored; the key is not in it, but where it is taken from."""
        return default_to_dict(
            self,
            url=self.url,
            api_key=None if self.api_key is None else self.api_key.to_dict(),
            collection_name=self.collection_name,
            embedding_dim=self.embedding_dim,
            distance_metric=self.distance_metric,
            collection_options=self.collection_options,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> QuiverDocumentStore:
        """The store of such a description."""
        parameters = data["init_parameters"]
        if isinstance(parameters.get("api_key"), dict):
            parameters["api_key"] = Secret.from_dict(parameters["api_key"])
        store: QuiverDocumentStore = default_from_dict(cls, data)
        return store

    # Clients, and the collection

    def _quiver(self) -> QuiverClient:
        if self._client is None:
            self._client = QuiverClient(self.url, self._secret())
        return self._client

    def _async_quiver(self) -> AsyncQuiverClient:
        loop = asyncio.get_running_loop()
        client = self._clients_of_loops.get(loop)
        if client is None:
            client = self._clients_of_loops[loop] = AsyncQuiverClient(self.url, self._secret())
        return client

    def _secret(self) -> str | None:
        return None if self.api_key is None else self.api_key.resolve_value()

    @property
    def _creation(self) -> dict[str, Any]:
        return {"dim": self.embedding_dim, "distance_metric": self.distance_metric, **(self.collection_options or {})}

    @property
    def collection(self) -> Collection:
        """The collection as ``quiver_client`` has it; created where there is none."""
        collection = self._quiver().collection(self.collection_name)
        if not self._is_there:
            try:
                collection.info()
            except NotFoundError:
                with suppress(ConflictError):  # Somebody else was first.
                    self._quiver().create_collection(self.collection_name, **self._creation)
            self._is_there = True
        return collection

    async def async_collection(self) -> AsyncCollection:
        """The same, async."""
        collection = self._async_quiver().collection(self.collection_name)
        if not self._is_there:
            try:
                await collection.info()
            except NotFoundError:
                with suppress(ConflictError):  # Somebody else was first.
                    await self._async_quiver().create_collection(self.collection_name, **self._creation)
            self._is_there = True
        return collection

    # Writing

    def write_documents(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """Stores documents; answers how many. ``NONE`` is ``FAIL``: ``DuplicateDocumentError`` where an id exists."""
        batch = _Batch(documents, policy)
        if batch.looks_first:
            batch.drop_existing(self.collection.fetch(batch.ids, include_vectors=False))
        return self.collection.upsert_many(batch.items(self.embedding_dim)).written

    async def write_documents_async(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """The same, async."""
        batch = _Batch(documents, policy)
        collection = await self.async_collection()
        if batch.looks_first:
            batch.drop_existing(await collection.fetch(batch.ids, include_vectors=False))
        return (await collection.upsert_many(batch.items(self.embedding_dim))).written

    def delete_documents(self, document_ids: list[str]) -> None:
        """Deletes documents; ids that do not exist are skipped."""
        self.collection.delete_many(document_ids)

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        """The same, async."""
        await (await self.async_collection()).delete_many(document_ids)

    def delete_by_filter(self, filters: Filters) -> int:
        """Deletes all documents that match; answers how many. Filters that restrict nothing are refused (``FilterError``)."""
        return self.collection.delete_by_filter(_restricting(filters))

    async def delete_by_filter_async(self, filters: Filters) -> int:
        """The same, async."""
        return await (await self.async_collection()).delete_by_filter(_restricting(filters))

    def delete_all_documents(self, recreate_collection: bool = False) -> None:
        """Deletes all documents, one by one or with the collection, which then is made anew with the options of this store."""
        if not recreate_collection:
            self.collection.delete_by_filter(_EVERYTHING)
            return
        with suppress(NotFoundError):
            self._quiver().collection(self.collection_name).drop()
        self._is_there = False

    async def delete_all_documents_async(self, recreate_collection: bool = False) -> None:
        """The same, async."""
        if not recreate_collection:
            await (await self.async_collection()).delete_by_filter(_EVERYTHING)
            return
        with suppress(NotFoundError):
            await self._async_quiver().collection(self.collection_name).drop()
        self._is_there = False

    def update_by_filter(self, filters: Filters, meta: dict[str, Any]) -> int:
        """Sets fields in the ``meta`` of all documents that match, each at once; answers how many.

        Where a field is set to an object or to None, documents are read, changed and written back: a change of another writer
        in between is lost.
        """
        if _is_merged(meta):
            return self.collection.update_by_filter(filters_from_haystack(filters) or _EVERYTHING, set={"meta": meta})
        changed = [_with_meta(item, meta) for item in self._items(filters, include_vectors=True)]
        return self.collection.upsert_many(changed).written

    async def update_by_filter_async(self, filters: Filters, meta: dict[str, Any]) -> int:
        """The same, async."""
        collection = await self.async_collection()
        if _is_merged(meta):
            return await collection.update_by_filter(filters_from_haystack(filters) or _EVERYTHING, set={"meta": meta})
        changed = [_with_meta(item, meta) async for item in self._items_async(filters, include_vectors=True)]
        return (await collection.upsert_many(changed)).written

    # Reading

    def count_documents(self) -> int:
        """How many documents there are."""
        return self.collection.count()

    async def count_documents_async(self) -> int:
        """The same, async."""
        return await (await self.async_collection()).count()

    def filter_documents(self, filters: Filters | None = None) -> list[Document]:
        """All documents that match, in the order in which they were written."""
        return [document_from_stored(item) for item in self._items(filters, include_vectors=True)]

    async def filter_documents_async(self, filters: Filters | None = None) -> list[Document]:
        """The same, async."""
        return [document_from_stored(item) async for item in self._items_async(filters, include_vectors=True)]

    def _items(self, filters: Filters | None, *, include_vectors: bool) -> Iterator[StoredVector]:
        return self.collection.scroll(filters=filters_from_haystack(filters), include_vectors=include_vectors)

    async def _items_async(self, filters: Filters | None, *, include_vectors: bool) -> AsyncIterator[StoredVector]:
        translated = filters_from_haystack(filters)
        async for item in (await self.async_collection()).scroll(filters=translated, include_vectors=include_vectors):
            yield item

    # What there is in the metadata. What the service does not count is gone through, without vectors.

    def _metas(self, filters: Filters | None) -> Iterator[dict[str, Any]]:
        return (item.metadata.get("meta") or {} for item in self._items(filters, include_vectors=False))

    async def _metas_async(self, filters: Filters | None) -> AsyncIterator[dict[str, Any]]:
        async for item in self._items_async(filters, include_vectors=False):
            yield item.metadata.get("meta") or {}

    def count_documents_by_filter(self, filters: Filters) -> int:
        """How many documents match."""
        return self.collection.count(filters_from_haystack(filters))

    async def count_documents_by_filter_async(self, filters: Filters) -> int:
        """The same, async."""
        return await (await self.async_collection()).count(filters_from_haystack(filters))

    def count_unique_metadata_by_filter(self, filters: Filters, metadata_fields: list[str]) -> dict[str, int]:
        """How many different values fields have in what matches; beyond 100,000 an estimate."""
        chosen = filters_from_haystack(filters)
        counted: dict[str, int] = {}
        for fields in _parts(metadata_fields):
            answer = self.collection.aggregate(filters=chosen, stats=_distinct(fields))
            counted |= {field: stats.distinct or 0 for field, stats in zip(fields, answer.stats, strict=True)}
        return counted

    async def count_unique_metadata_by_filter_async(self, filters: Filters, metadata_fields: list[str]) -> dict[str, int]:
        """The same, async."""
        chosen = filters_from_haystack(filters)
        counted: dict[str, int] = {}
        for fields in _parts(metadata_fields):
            answer = await (await self.async_collection()).aggregate(filters=chosen, stats=_distinct(fields))
            counted |= {field: stats.distinct or 0 for field, stats in zip(fields, answer.stats, strict=True)}
        return counted

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """Which fields documents have in their ``meta``, and of which types."""
        types = FieldTypes()
        for meta in self._metas(None):
            types.add(meta)
        return types.result()

    async def get_metadata_fields_info_async(self) -> dict[str, dict[str, str]]:
        """The same, async."""
        types = FieldTypes()
        async for meta in self._metas_async(None):
            types.add(meta)
        return types.result()

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """The least and the greatest value of a field."""
        between = FieldRange(metadata_field)
        with suppress(ValidationError):  # It has no numbers, but other values.
            [stats] = self.collection.aggregate(stats=[between.request]).stats
            if not stats.not_numbers:
                return {"min": stats.min, "max": stats.max}
        for meta in self._metas(None):
            between.add(meta)
        return between.result()

    async def get_metadata_field_min_max_async(self, metadata_field: str) -> dict[str, Any]:
        """The same, async."""
        between = FieldRange(metadata_field)
        with suppress(ValidationError):  # It has no numbers, but other values.
            [stats] = (await (await self.async_collection()).aggregate(stats=[between.request])).stats
            if not stats.not_numbers:
                return {"min": stats.min, "max": stats.max}
        async for meta in self._metas_async(None):
            between.add(meta)
        return between.result()

    def get_metadata_field_unique_values(
        self, metadata_field: str, search_term: str | None = None, from_: int = 0, size: int = 10, filters: Filters | None = None
    ) -> tuple[list[Any], int]:
        """The different values of a field, by their text, page by page; and how many there are."""
        values = FieldValues(metadata_field)
        [facet] = self.collection.aggregate(filters=filters_from_haystack(filters), facets=[values.request]).facets
        values.add_facet(facet)
        if facet.more:
            for meta in self._metas(filters):
                values.add(meta)
        return values.page(search_term, from_, size)

    async def get_metadata_field_unique_values_async(
        self, metadata_field: str, search_term: str | None = None, from_: int = 0, size: int = 10, filters: Filters | None = None
    ) -> tuple[list[Any], int]:
        """The same, async."""
        values = FieldValues(metadata_field)
        collection = await self.async_collection()
        [facet] = (await collection.aggregate(filters=filters_from_haystack(filters), facets=[values.request])).facets
        values.add_facet(facet)
        if facet.more:
            async for meta in self._metas_async(filters):
                values.add(meta)
        return values.page(search_term, from_, size)

    # Retrieval. A hit has no embedding: where those are asked for, the documents are fetched by id.

    def embedding_retrieval(
        self, query_embedding: list[float], *, filters: Filters | None = None, top_k: int = 10, return_embedding: bool = False
    ) -> list[Document]:
        """The nearest documents to a vector; those without an embedding are not found."""
        if not query_embedding:
            raise ValueError("query_embedding must not be empty")
        chosen = filters_from_haystack(filters)
        options: dict[str, Any] = {"k": top_k, "include_text": not return_embedding}
        hits = self.collection.search(query_embedding, filters=chosen, **options).results
        if _has_one_without_embedding(hits):
            hits = self.collection.search(query_embedding, filters=_and(chosen, _WITH_EMBEDDING), **options).results
        return _found(hits, self.collection.fetch(_ids(hits)) if return_embedding else hits)

    async def embedding_retrieval_async(
        self, query_embedding: list[float], *, filters: Filters | None = None, top_k: int = 10, return_embedding: bool = False
    ) -> list[Document]:
        """The same, async."""
        if not query_embedding:
            raise ValueError("query_embedding must not be empty")
        collection, chosen = await self.async_collection(), filters_from_haystack(filters)
        options: dict[str, Any] = {"k": top_k, "include_text": not return_embedding}
        hits = (await collection.search(query_embedding, filters=chosen, **options)).results
        if _has_one_without_embedding(hits):
            hits = (await collection.search(query_embedding, filters=_and(chosen, _WITH_EMBEDDING), **options)).results
        return _found(hits, await collection.fetch(_ids(hits)) if return_embedding else hits)

    def hybrid_retrieval(
        self,
        query: str,
        query_embedding: list[float] | None = None,
        *,
        alpha: float = 0.5,
        filters: Filters | None = None,
        top_k: int = 10,
        return_embedding: bool = False,
    ) -> list[Document]:
        """By meaning (``alpha`` 1) and words (``alpha`` 0), fused by rank; words alone where there is no vector."""
        vector, weight = _hybrid(query_embedding, alpha)
        chosen = filters_from_haystack(filters)
        hits = self.collection.hybrid_search(
            query, vector, k=top_k, alpha=weight, filters=chosen, include_text=not return_embedding
        ).results
        return _found(hits, self.collection.fetch(_ids(hits)) if return_embedding else hits)

    async def hybrid_retrieval_async(
        self,
        query: str,
        query_embedding: list[float] | None = None,
        *,
        alpha: float = 0.5,
        filters: Filters | None = None,
        top_k: int = 10,
        return_embedding: bool = False,
    ) -> list[Document]:
        """The same, async."""
        vector, weight = _hybrid(query_embedding, alpha)
        collection, chosen = await self.async_collection(), filters_from_haystack(filters)
        answer = await collection.hybrid_search(query, vector, k=top_k, alpha=weight, filters=chosen, include_text=not return_embedding)
        hits = answer.results
        return _found(hits, await collection.fetch(_ids(hits)) if return_embedding else hits)


def _hybrid(query_embedding: list[float] | None, alpha: float) -> tuple[list[float] | None, float]:
    # With words alone the service makes no vector of the text by its own model, which need not be the documents'.
    return (query_embedding, alpha) if query_embedding is not None else (None, 0.0)


class _Batch:
    """Documents to write, by a policy."""

    def __init__(self, documents: list[Document], policy: DuplicatePolicy) -> None:
        if not isinstance(documents, list) or not all(isinstance(document, Document) for document in documents):
            raise ValueError("documents must be a list of Document")
        self._policy = DuplicatePolicy.FAIL if policy == DuplicatePolicy.NONE else policy
        self._documents: dict[str, Document] = {}
        for document in documents:
            if self._policy != DuplicatePolicy.OVERWRITE and document.id in self._documents:
                if self._policy == DuplicatePolicy.FAIL:
                    raise DuplicateDocumentError(f"the id {document.id!r} stands twice among the documents")
                continue
            self._documents[document.id] = document

    @property
    def looks_first(self) -> bool:
        return self._policy != DuplicatePolicy.OVERWRITE

    @property
    def ids(self) -> list[str]:
        return list(self._documents)

    def drop_existing(self, existing: Sequence[StoredVector]) -> None:
        if existing and self._policy == DuplicatePolicy.FAIL:
            raise DuplicateDocumentError(f"documents with these ids exist: {', '.join(one.external_id for one in existing[:10])}")
        for one in existing:
            del self._documents[one.external_id]

    def items(self, dim: int) -> list[Item]:
        return [item_from_document(document, dim) for document in self._documents.values()]


def _restricting(filters: Filters | None) -> Filters:
    """Filters to delete by: who makes them of optional conditions does not mean all by none."""
    chosen = filters_from_haystack(filters)
    if chosen is None:
        raise FilterError("filters that restrict nothing would delete all documents; that is what delete_all_documents does")
    return chosen


def _is_merged(meta: Mapping[str, Any]) -> bool:
    """Whether the service, which merges objects and sets nothing to null, makes of it what Haystack means."""
    return not any(value is None or isinstance(value, Mapping) for value in meta.values())


def _parts(fields: Sequence[str]) -> Iterator[Sequence[str]]:
    return (fields[i : i + FIELDS_MAX] for i in range(0, len(fields), FIELDS_MAX))


def _distinct(fields: Sequence[str]) -> list[dict[str, Any]]:
    return [{"field": META + bare(field), "ops": ["distinct"]} for field in fields]


def _with_meta(item: StoredVector, meta: dict[str, Any]) -> Item:
    metadata = {**item.metadata, "meta": {**(item.metadata.get("meta") or {}), **meta}}
    encoded = item.encoded if isinstance(item.encoded, str) else item.vector
    return Item(item.external_id, encoded, item.text, metadata)


def _has_one_without_embedding(hits: Sequence[Hit]) -> bool:
    return any(WITHOUT_EMBEDDING in hit.metadata for hit in hits)


def _and(first: Filters | None, second: Filters) -> Filters:
    return second if first is None else {"$and": [first, second]}


def _ids(hits: Sequence[Hit | HybridHit]) -> list[str]:
    return [hit.external_id for hit in hits]


def _found(hits: Sequence[Hit | HybridHit], items: Sequence[Hit | HybridHit | StoredVector]) -> list[Document]:
    by_id = {item.external_id: item for item in items}
    # What was deleted before it was fetched is left out.
    return [document_from_stored(by_id[hit.external_id], score=hit.score) for hit in hits if hit.external_id in by_id]
