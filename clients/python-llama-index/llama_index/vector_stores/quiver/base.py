"""A collection of Quiver as LlamaIndex's vector store."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.schema import BaseNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryResult,
)

from quiver_client import AsyncCollection, AsyncQuiverClient, Collection, ConflictError, NotFoundError, QuiverClient
from quiver_client.models import Hit, HybridHit

from .filters import combined, filters_from_llama_index
from .nodes import NODE, REF_DOC_ID, item_from_node, node_from_stored
from .search_plan import SearchPlan

_EVERYTHING: dict[str, Any] = {NODE: {"$exists": True}}


class QuiverVectorStore(BasePydanticVectorStore):
    """Nodes in a collection of Quiver, found by meaning, by words, or both.

    ``url`` and ``api_key`` are taken from ``QUIVER_URL`` and ``QUIVER_API_KEY`` where they are left out; or bring clients of
    ``quiver_client`` with settings of your own. The collection is created when the first nodes are added
    (``create_collection``), with the dimensions of their embeddings.

    Modes of queries: ``default``, ``hybrid`` (with ``alpha``), ``text_search`` and ``sparse`` (words alone) and ``mmr``.
    """

    stores_text: bool = True
    flat_metadata: bool = False

    collection_name: str
    create_collection: bool
    distance_metric: str
    collection_options: dict[str, Any]

    _given: tuple[str | None, str | None] = PrivateAttr()
    _client: QuiverClient | None = PrivateAttr()
    _async_client: AsyncQuiverClient | None = PrivateAttr()
    _clients_of_loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncQuiverClient] = PrivateAttr()

    def __init__(
        self,
        collection_name: str = "llama-index",
        *,
        url: str | None = None,
        api_key: str | None = None,
        client: QuiverClient | None = None,
        async_client: AsyncQuiverClient | None = None,
        create_collection: bool = True,
        distance_metric: str = "cosine",
        collection_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(  # type: ignore[call-arg]
            collection_name=collection_name,
            create_collection=create_collection,
            distance_metric=distance_metric,
            collection_options=dict(collection_options or {}),
        )
        self._given = (url, api_key)
        self._client = client
        self._async_client = async_client
        # A client's connections belong to the event loop that opened them.
        self._clients_of_loops = weakref.WeakKeyDictionary()

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex knows this class."""
        return "QuiverVectorStore"

    @property
    def client(self) -> QuiverClient:
        """The client of ``quiver_client``."""
        if self._client is None:
            url, api_key = self._given
            self._client = QuiverClient(url, api_key)
        return self._client

    @property
    def aclient(self) -> AsyncQuiverClient:
        """The same for the running event loop."""
        if self._async_client is not None:
            return self._async_client
        loop = asyncio.get_running_loop()
        client = self._clients_of_loops.get(loop)
        if client is None:
            url, api_key = self._given
            client = self._clients_of_loops[loop] = AsyncQuiverClient(url, api_key)
        return client

    @property
    def _collection(self) -> Collection:
        return self.client.collection(self.collection_name)

    @property
    def _async_collection(self) -> AsyncCollection:
        return self.aclient.collection(self.collection_name)

    # Writing

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Stores nodes with their embeddings; those whose id exists are replaced. ``kwargs`` go to ``upsert_many``."""
        items = [item_from_node(node) for node in nodes]
        if items and self.create_collection:
            self.ensure_collection(len(nodes[0].get_embedding()))
        self._collection.upsert_many(items, **kwargs)
        return [str(item.external_id) for item in items]

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """The same, async."""
        items = [item_from_node(node) for node in nodes]
        if items and self.create_collection:
            await self.aensure_collection(len(nodes[0].get_embedding()))
        await self._async_collection.upsert_many(items, **kwargs)
        return [str(item.external_id) for item in items]

    def ensure_collection(self, dim: int) -> None:
        """Creates the collection where there is none."""
        try:
            self._collection.info()
        except NotFoundError:
            with suppress(ConflictError):  # Somebody else was first.
                self.client.create_collection(self.collection_name, dim, **self._creation)

    async def aensure_collection(self, dim: int) -> None:
        """The same, async."""
        try:
            await self._async_collection.info()
        except NotFoundError:
            with suppress(ConflictError):  # Somebody else was first.
                await self.aclient.create_collection(self.collection_name, dim, **self._creation)

    @contextmanager
    def _before_the_first_write(self) -> Iterator[None]:
        """Passes over that there is no collection yet, where this store would make it."""
        try:
            yield
        except NotFoundError:
            if not self.create_collection:
                raise

    @property
    def _creation(self) -> dict[str, Any]:
        return {"distance_metric": self.distance_metric, **self.collection_options}

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Deletes all nodes of a document."""
        with self._before_the_first_write():
            self._collection.delete_by_filter({REF_DOC_ID: ref_doc_id})

    async def adelete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """The same, async."""
        with self._before_the_first_write():
            await self._async_collection.delete_by_filter({REF_DOC_ID: ref_doc_id})

    def delete_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **delete_kwargs: Any) -> None:
        """Deletes nodes by their ids, all that match a filter, or those of the ids that match.

        Filters that restrict nothing are refused where there are no ids: ``clear`` deletes all.
        """
        with self._before_the_first_write():
            if node_ids is not None and filters is None:
                self._collection.delete_many(node_ids)
            else:
                self._collection.delete_by_filter(_all_of(filters, node_ids) or {})

    async def adelete_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **delete_kwargs: Any) -> None:
        """The same, async."""
        with self._before_the_first_write():
            if node_ids is not None and filters is None:
                await self._async_collection.delete_many(node_ids)
            else:
                await self._async_collection.delete_by_filter(_all_of(filters, node_ids) or {})

    def clear(self) -> None:
        """Deletes all nodes."""
        with self._before_the_first_write():
            self._collection.delete_by_filter(_EVERYTHING)

    async def aclear(self) -> None:
        """The same, async."""
        with self._before_the_first_write():
            await self._async_collection.delete_by_filter(_EVERYTHING)

    # Reading

    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """Nodes by their ids, all that match a filter, or those of the ids that match; with their embeddings."""
        with self._before_the_first_write():
            if node_ids is not None and filters is None:
                return [node_from_stored(item) for item in self._collection.fetch(node_ids)]
            chosen = _all_of(filters, node_ids) or _EVERYTHING
            return [node_from_stored(item) for item in self._collection.scroll(filters=chosen)]
        return []

    async def aget_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """The same, async."""
        with self._before_the_first_write():
            if node_ids is not None and filters is None:
                return [node_from_stored(item) for item in await self._async_collection.fetch(node_ids)]
            chosen = _all_of(filters, node_ids) or _EVERYTHING
            return [node_from_stored(item) async for item in self._async_collection.scroll(filters=chosen)]
        return []

    # Searching. A hit has no embedding: diverse results, which need those, are fetched by id.

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """What is nearest, with scores of which higher is better.

        ``kwargs`` go to the search, ``mmr_prefetch_factor`` apart: candidates of ``mmr`` for each node that is asked for.
        """
        plan = SearchPlan(query, kwargs)
        hits: Sequence[Hit | HybridHit]
        with self._before_the_first_write():
            if plan.words is None:
                hits = self._collection.search(plan.vector, **plan.arguments).results
            else:
                hits = self._collection.hybrid_search(plan.words, plan.vector, **plan.arguments).results
            return plan.result(hits, self._collection.fetch(plan.ids(hits)) if plan.is_diverse else hits)
        return plan.result([], [])

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """The same, async."""
        plan = SearchPlan(query, kwargs)
        hits: Sequence[Hit | HybridHit]
        with self._before_the_first_write():
            if plan.words is None:
                hits = (await self._async_collection.search(plan.vector, **plan.arguments)).results
            else:
                hits = (await self._async_collection.hybrid_search(plan.words, plan.vector, **plan.arguments)).results
            return plan.result(hits, await self._async_collection.fetch(plan.ids(hits)) if plan.is_diverse else hits)
        return plan.result([], [])


def _all_of(filters: MetadataFilters | None, node_ids: Sequence[str] | None) -> dict[str, Any] | None:
    return combined(filters_from_llama_index(filters), None if node_ids is None else {"$id": list(node_ids)})
