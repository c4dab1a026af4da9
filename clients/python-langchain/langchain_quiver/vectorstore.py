"""A collection of Quiver as LangChain's vector store."""

from __future__ import annotations

import asyncio
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from quiver_client import AsyncCollection, AsyncQuiverClient, Collection, ConflictError, Item, NotFoundError, QuiverClient, StoredVector
from quiver_client.models import DistanceMetric, Hit, HybridHit

Filter = Mapping[str, Any]
Store = TypeVar("Store", bound="QuiverVectorStore")

# What no metadata have, so that it is absent from all: the service deletes by a filter or not at all.
_EVERYTHING: Filter = {"langchain_quiver.no_such_key": {"$exists": False}}
_PROBE = "How many dimensions has this?"


class QuiverVectorStore(VectorStore):
    """Documents in a collection of Quiver, found by meaning, by words, or both.

    A document's id is the ``external_id``, its ``page_content`` the text, which keyword search covers, too. Metadata are any
    JSON object. Filters are Quiver's: ``{"year": {"$gte": 1900}, "author": "Melville"}``.

    ``url`` and ``api_key`` are taken from ``QUIVER_URL`` and ``QUIVER_API_KEY`` where they are left out; or bring clients of
    ``quiver_client`` with settings of your own. The collection is created when the first documents are added
    (``create_collection``), with the dimensions of the embeddings.
    """

    def __init__(
        self,
        embedding: Embeddings,
        *,
        collection_name: str = "langchain",
        url: str | None = None,
        api_key: str | None = None,
        client: QuiverClient | None = None,
        async_client: AsyncQuiverClient | None = None,
        create_collection: bool = True,
        distance_metric: DistanceMetric = "cosine",
        collection_options: Mapping[str, Any] | None = None,
    ) -> None:
        self._embedding = embedding
        self.collection_name = collection_name
        self._given = (url, api_key)
        self._client = client
        self._async_client = async_client
        # A client's connections belong to the event loop that opened them.
        self._clients_of_loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncQuiverClient] = weakref.WeakKeyDictionary()
        self._creates = create_collection
        self._distance_metric = distance_metric
        # Whether it is what the collection has.
        self._metric_is_known = False
        self._options = dict(collection_options or {})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.collection_name!r})"

    @property
    def embeddings(self) -> Embeddings:
        """The model that embeds documents and queries."""
        return self._embedding

    @property
    def collection(self) -> Collection:
        """The collection as ``quiver_client`` has it, for whatever LangChain has no name for."""
        return self._quiver().collection(self.collection_name)

    @property
    def async_collection(self) -> AsyncCollection:
        """The same for the running event loop."""
        return self._async_quiver().collection(self.collection_name)

    def _quiver(self) -> QuiverClient:
        if self._client is None:
            url, api_key = self._given
            self._client = QuiverClient(url, api_key)
        return self._client

    def _async_quiver(self) -> AsyncQuiverClient:
        if self._async_client is not None:
            return self._async_client
        loop = asyncio.get_running_loop()
        client = self._clients_of_loops.get(loop)
        if client is None:
            url, api_key = self._given
            client = self._clients_of_loops[loop] = AsyncQuiverClient(url, api_key)
        return client

    # Creating

    def ensure_collection(self, dim: int | None = None) -> None:
        """Creates the collection where there is none; without ``dim`` a text is embedded to learn it."""
        try:
            self._note_metric(self.collection.info().distance_metric)
        except NotFoundError:
            size = dim or len(self._embedding.embed_query(_PROBE))
            with suppress(ConflictError):  # Somebody else was first.
                self._quiver().create_collection(self.collection_name, size, distance_metric=self._distance_metric, **self._options)

    async def aensure_collection(self, dim: int | None = None) -> None:
        """The same, async."""
        try:
            self._note_metric((await self.async_collection.info()).distance_metric)
        except NotFoundError:
            size = dim or len(await self._embedding.aembed_query(_PROBE))
            with suppress(ConflictError):  # Somebody else was first.
                await self._async_quiver().create_collection(
                    self.collection_name, size, distance_metric=self._distance_metric, **self._options
                )

    @classmethod
    def from_texts(
        cls: type[Store],
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Store:
        """A store with these texts; ``kwargs`` are the constructor's."""
        store = cls(embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @classmethod
    async def afrom_texts(
        cls: type[Store],
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Store:
        """The same, async."""
        store = cls(embedding, **kwargs)
        await store.aadd_texts(texts, metadatas, ids=ids)
        return store

    @contextmanager
    def _before_the_first_write(self) -> Iterator[None]:
        """Passes over that there is no collection yet, where this store would make it."""
        try:
            yield
        except NotFoundError:
            if not self._creates:
                raise

    # Writing

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Embeds and stores texts; those whose id exists are replaced. ``kwargs`` go to ``upsert_many``."""
        contents = list(texts)
        vectors = self._embedding.embed_documents(contents) if contents else []
        items = _items(contents, vectors, metadatas, ids)
        if items and self._creates:
            self.ensure_collection(len(vectors[0]))
        self.collection.upsert_many(items, **kwargs)
        return [str(item.external_id) for item in items]

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """The same, async."""
        contents = list(texts)
        vectors = await self._embedding.aembed_documents(contents) if contents else []
        items = _items(contents, vectors, metadatas, ids)
        if items and self._creates:
            await self.aensure_collection(len(vectors[0]))
        await self.async_collection.upsert_many(items, **kwargs)
        return [str(item.external_id) for item in items]

    def add_documents(self, documents: list[Document], *, ids: Sequence[str | None] | None = None, **kwargs: Any) -> list[str]:
        """Embeds and stores documents; those whose id exists are replaced, and those without one get one."""
        return self.add_texts(*_parts(documents), ids=ids or [document.id for document in documents], **kwargs)

    async def aadd_documents(self, documents: list[Document], *, ids: Sequence[str | None] | None = None, **kwargs: Any) -> list[str]:
        """The same, async."""
        return await self.aadd_texts(*_parts(documents), ids=ids or [document.id for document in documents], **kwargs)

    def delete(self, ids: list[str] | None = None, *, filter: Filter | None = None, **kwargs: Any) -> bool:
        """Deletes documents by their ids, or all that match a filter, or without either all; ids that do not exist are skipped.

        A filter that restricts nothing, such as ``{}``, is refused: who makes it of optional conditions does not mean all. So
        are ids together with a filter, and restrictions of other stores (``where``, ``namespace``), which this one has not.
        """
        _must_be_known(ids, filter, kwargs)
        with self._before_the_first_write():
            if ids is not None:
                self.collection.delete_many(ids)
            else:
                self.collection.delete_by_filter(_to_delete(filter))
        return True

    async def adelete(self, ids: list[str] | None = None, *, filter: Filter | None = None, **kwargs: Any) -> bool:
        """The same, async."""
        _must_be_known(ids, filter, kwargs)
        with self._before_the_first_write():
            if ids is not None:
                await self.async_collection.delete_many(ids)
            else:
                await self.async_collection.delete_by_filter(_to_delete(filter))
        return True

    # Reading

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents of these ids, in their order; those that do not exist are left out."""
        with self._before_the_first_write():
            return [_document(item) for item in self.collection.fetch(ids, include_vectors=False)]
        return []

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The same, async."""
        with self._before_the_first_write():
            return [_document(item) for item in await self.async_collection.fetch(ids, include_vectors=False)]
        return []

    # Searching

    def similarity_search(self, query: str, k: int = 4, filter: Filter | None = None, **kwargs: Any) -> list[Document]:
        """The ``k`` nearest documents to a text."""
        return _bare(self.similarity_search_with_score(query, k, filter, **kwargs))

    async def asimilarity_search(self, query: str, k: int = 4, filter: Filter | None = None, **kwargs: Any) -> list[Document]:
        """The same, async."""
        return _bare(await self.asimilarity_search_with_score(query, k, filter, **kwargs))

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """With their scores, of which higher is better; ``kwargs`` (``min_score``, ``exact``, ``ef``, ``offset``, ``fields``) go to the search."""
        return self.similarity_search_with_score_by_vector(self._embedding.embed_query(query), k, filter, **kwargs)

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """The same, async."""
        return await self.asimilarity_search_with_score_by_vector(await self._embedding.aembed_query(query), k, filter, **kwargs)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """The ``k`` nearest documents to a vector."""
        return _bare(self.similarity_search_with_score_by_vector(embedding, k, filter, **kwargs))

    async def asimilarity_search_by_vector(
        self, embedding: list[float], k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """The same, async."""
        return _bare(await self.asimilarity_search_with_score_by_vector(embedding, k, filter, **kwargs))

    def similarity_search_with_score_by_vector(
        self, embedding: list[float], k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """The ``k`` nearest documents to a vector, with their scores."""
        with self._before_the_first_write():
            return _scored(self.collection.search(embedding, k=k, filters=_checked(filter), include_text=True, **kwargs).results)
        return []

    async def asimilarity_search_with_score_by_vector(
        self, embedding: list[float], k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """The same, async."""
        with self._before_the_first_write():
            answer = await self.async_collection.search(embedding, k=k, filters=_checked(filter), include_text=True, **kwargs)
            return _scored(answer.results)
        return []

    def hybrid_search(
        self, query: str, k: int = 4, filter: Filter | None = None, *, alpha: float = 0.5, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """By meaning (``alpha`` 1) and words (``alpha`` 0) together, fused by rank, with scores."""
        vector = self._embedding.embed_query(query)
        with self._before_the_first_write():
            chosen = _checked(filter)
            answer = self.collection.hybrid_search(query, vector, k=k, alpha=alpha, filters=chosen, include_text=True, **kwargs)
            return _scored(answer.results)
        return []

    async def ahybrid_search(
        self, query: str, k: int = 4, filter: Filter | None = None, *, alpha: float = 0.5, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """The same, async."""
        vector = await self._embedding.aembed_query(query)
        with self._before_the_first_write():
            chosen = _checked(filter)
            answer = await self.async_collection.hybrid_search(query, vector, k=k, alpha=alpha, filters=chosen, include_text=True, **kwargs)
            return _scored(answer.results)
        return []

    def max_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """``k`` documents near a text and unlike each other, of the ``fetch_k`` nearest ones."""
        return self.max_marginal_relevance_search_by_vector(self._embedding.embed_query(query), k, fetch_k, lambda_mult, filter, **kwargs)

    async def amax_marginal_relevance_search(
        self, query: str, k: int = 4, fetch_k: int = 20, lambda_mult: float = 0.5, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """The same, async."""
        vector = await self._embedding.aembed_query(query)
        return await self.amax_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, filter, **kwargs)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Filter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """The same for a vector."""
        with self._before_the_first_write():
            hits = self.collection.search(embedding, k=fetch_k, filters=_checked(filter), fields=[], **kwargs).results
            stored = self.collection.fetch([hit.external_id for hit in hits])
            return _diverse(embedding, stored, k, lambda_mult)
        return []

    async def amax_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Filter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """The same, async."""
        with self._before_the_first_write():
            hits = (await self.async_collection.search(embedding, k=fetch_k, filters=_checked(filter), fields=[], **kwargs)).results
            stored = await self.async_collection.fetch([hit.external_id for hit in hits])
            return _diverse(embedding, stored, k, lambda_mult)
        return []

    def _note_metric(self, metric: DistanceMetric) -> None:
        self._distance_metric = metric
        self._metric_is_known = True

    # Who only reads has not met the collection yet, and its metric says what scores mean.

    def _similarity_search_with_relevance_scores(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        if not self._metric_is_known:
            with self._before_the_first_write():
                self._note_metric(self.collection.info().distance_metric)
        return super()._similarity_search_with_relevance_scores(query, k, **kwargs)

    async def _asimilarity_search_with_relevance_scores(self, query: str, k: int = 4, **kwargs: Any) -> list[tuple[Document, float]]:
        if not self._metric_is_known:
            with self._before_the_first_write():
                self._note_metric((await self.async_collection.info()).distance_metric)
        return await super()._asimilarity_search_with_relevance_scores(query, k, **kwargs)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        # Scores of l2 are from 0 to 1 already; cosines, and inner products of unit vectors, from -1 to 1. Inner products of
        # longer ones have no bound: what is beyond is as good, or as bad, as can be.
        return _within_bounds if self._distance_metric == "l2" else (lambda score: _within_bounds((score + 1) / 2))


def _within_bounds(relevance: float) -> float:
    return min(1.0, max(0.0, relevance))


def _must_be_known(ids: Sequence[str] | None, filter: Filter | None, others: Mapping[str, Any]) -> None:
    """``TypeError`` where more would be deleted than what the caller describes."""
    if others:
        raise TypeError(f"delete takes ids or filter, not {', '.join(others)}: it would not restrict what is deleted")
    if ids is not None and filter is not None:
        raise TypeError("delete takes ids or a filter, not both")


def _to_delete(filter: Filter | None) -> Filter:
    return _EVERYTHING if filter is None else _checked(filter) or {}


def _items(
    texts: Sequence[str], vectors: Sequence[Sequence[float]], metadatas: Sequence[dict[str, Any]] | None, ids: Sequence[str | None] | None
) -> list[Item]:
    for name, others in (("metadatas", metadatas), ("ids", ids)):
        if others is not None and len(others) != len(texts):
            raise ValueError(f"{len(texts)} texts need as many {name}, not {len(others)}")
    return [
        Item(
            external_id=(ids[i] if ids is not None else None) or str(uuid.uuid4()),
            vector=vectors[i],
            text=text,
            # Left out, an update would keep the old ones.
            metadata=(metadatas[i] or {}) if metadatas is not None else {},
        )
        for i, text in enumerate(texts)
    ]


def _parts(documents: Sequence[Document]) -> tuple[list[str], list[dict[str, Any]]]:
    return [document.page_content for document in documents], [document.metadata for document in documents]


def _document(item: StoredVector | Hit | HybridHit) -> Document:
    return Document(id=item.external_id, page_content=item.text or "", metadata=item.metadata)


def _scored(hits: Sequence[Hit | HybridHit]) -> list[tuple[Document, float]]:
    return [(_document(hit), hit.score) for hit in hits]


def _bare(scored: Sequence[tuple[Document, float]]) -> list[Document]:
    return [document for document, _ in scored]


def _diverse(embedding: Sequence[float], items: Sequence[StoredVector], k: int, lambda_mult: float) -> list[Document]:
    if not items:
        return []
    vectors = [item.array.tolist() for item in items]
    chosen = maximal_marginal_relevance(np.asarray(embedding, dtype=np.float32), vectors, lambda_mult=lambda_mult, k=k)
    return [_document(items[i]) for i in chosen]


def _checked(filter: object) -> Filter | None:
    if filter is None or isinstance(filter, Mapping):
        return filter
    raise TypeError(f"a filter is a mapping in Quiver's filter language, such as {{'year': {{'$gte': 1900}}}}, not {type(filter).__name__}")
