"""Retrievers over a document store of Quiver."""

from __future__ import annotations

from typing import Any, TypeVar

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.document_stores.types import FilterPolicy
from haystack.document_stores.types.filter_policy import apply_filter_policy
from haystack_integrations.document_stores.quiver import QuiverDocumentStore

R = TypeVar("R", bound="_Retriever")


class _Retriever:
    """What all have: a store, filters and a number of documents, which a run may change."""

    def __init__(
        self,
        document_store: QuiverDocumentStore,
        *,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        filter_policy: str | FilterPolicy = FilterPolicy.REPLACE,
        return_embedding: bool = False,
    ) -> None:
        if not isinstance(document_store, QuiverDocumentStore):
            raise ValueError("document_store must be a QuiverDocumentStore")  # noqa: TRY004
        self._document_store = document_store
        self._filters = filters
        self._top_k = top_k
        self._filter_policy = filter_policy if isinstance(filter_policy, FilterPolicy) else FilterPolicy.from_str(filter_policy)
        self._return_embedding = return_embedding

    def _own(self) -> dict[str, Any]:
        return {}

    def to_dict(self) -> dict[str, Any]:
        """For pipelines that are stored."""
        return default_to_dict(
            self,
            document_store=self._document_store.to_dict(),
            filters=self._filters,
            top_k=self._top_k,
            filter_policy=self._filter_policy.value,
            return_embedding=self._return_embedding,
            **self._own(),
        )

    @classmethod
    def from_dict(cls: type[R], data: dict[str, Any]) -> R:
        """The retriever of such a description."""
        parameters = data["init_parameters"]
        parameters["document_store"] = QuiverDocumentStore.from_dict(parameters["document_store"])
        retriever: R = default_from_dict(cls, data)
        return retriever

    def _options(self, filters: dict[str, Any] | None, top_k: int | None) -> dict[str, Any]:
        return {
            "filters": apply_filter_policy(self._filter_policy, self._filters, filters),
            "top_k": self._top_k if top_k is None else top_k,
            "return_embedding": self._return_embedding,
        }


@component
class QuiverEmbeddingRetriever(_Retriever):
    """The nearest documents to a vector."""

    @component.output_types(documents=list[Document])
    def run(
        self, query_embedding: list[float], filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Documents, nearest first."""
        return {"documents": self._document_store.embedding_retrieval(query_embedding, **self._options(filters, top_k))}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query_embedding: list[float], filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """The same, async."""
        return {"documents": await self._document_store.embedding_retrieval_async(query_embedding, **self._options(filters, top_k))}


@component
class QuiverHybridRetriever(_Retriever):
    """By meaning (``alpha`` 1) and words (``alpha`` 0) together, fused by rank."""

    def __init__(
        self,
        document_store: QuiverDocumentStore,
        *,
        alpha: float = 0.5,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        filter_policy: str | FilterPolicy = FilterPolicy.REPLACE,
        return_embedding: bool = False,
    ) -> None:
        # The decorator makes another class of this one, which super() would not know.
        _Retriever.__init__(
            self, document_store, filters=filters, top_k=top_k, filter_policy=filter_policy, return_embedding=return_embedding
        )
        self._alpha = alpha

    def _own(self) -> dict[str, Any]:
        return {"alpha": self._alpha}

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, query_embedding: list[float], filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Documents, best first."""
        options = {"alpha": self._alpha, **self._options(filters, top_k)}
        return {"documents": self._document_store.hybrid_retrieval(query, query_embedding, **options)}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, query_embedding: list[float], filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """The same, async."""
        options = {"alpha": self._alpha, **self._options(filters, top_k)}
        return {"documents": await self._document_store.hybrid_retrieval_async(query, query_embedding, **options)}


@component
class QuiverKeywordRetriever(_Retriever):
    """By words alone (BM25); needs no embeddings."""

    @component.output_types(documents=list[Document])
    def run(self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None) -> dict[str, list[Document]]:
        """Documents, best first."""
        return {"documents": self._document_store.hybrid_retrieval(query, **self._options(filters, top_k))}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None) -> dict[str, list[Document]]:
        """The same, async."""
        return {"documents": await self._document_store.hybrid_retrieval_async(query, **self._options(filters, top_k))}
