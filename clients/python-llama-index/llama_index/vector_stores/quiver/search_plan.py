"""A query of LlamaIndex as a search of Quiver, and its hits as a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode, VectorStoreQueryResult

from quiver_client import StoredVector
from quiver_client.models import Hit, HybridHit

from .filters import combined, filters_from_llama_index
from .nodes import REF_DOC_ID, node_from_stored

# As LlamaIndex's own store has it.
_MMR_PREFETCH_FACTOR = 4.0
_MMR_THRESHOLD = 0.5
_WORDS_ALONE = {VectorStoreQueryMode.TEXT_SEARCH, VectorStoreQueryMode.SPARSE}
_MODES = {VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.HYBRID, VectorStoreQueryMode.MMR, *_WORDS_ALONE}


class SearchPlan:
    """What to ask the service. ``ValueError`` for a mode that has no counterpart, or a query that lacks what its mode needs."""

    def __init__(self, query: VectorStoreQuery, options: Mapping[str, Any]) -> None:
        mode = query.mode
        if mode not in _MODES:
            raise ValueError(f"Quiver has no counterpart of the query mode {mode.value!r}")
        self.query = query
        self.is_diverse = mode == VectorStoreQueryMode.MMR
        self.words = query.query_str if mode == VectorStoreQueryMode.HYBRID or mode in _WORDS_ALONE else None
        self.vector = query.query_embedding
        if self.words is None and (mode == VectorStoreQueryMode.HYBRID or mode in _WORDS_ALONE):
            raise ValueError(f"the query mode {mode.value!r} needs query_str")
        if self.vector is None and mode not in _WORDS_ALONE:
            raise ValueError(f"the query mode {mode.value!r} needs query_embedding")
        rest = dict(options)
        factor = float(rest.pop("mmr_prefetch_factor", _MMR_PREFETCH_FACTOR))
        self.mmr_threshold = rest.pop("mmr_threshold", None) or query.mmr_threshold or _MMR_THRESHOLD
        k = query.similarity_top_k
        if mode == VectorStoreQueryMode.HYBRID:
            k = query.hybrid_top_k or k
        if mode in _WORDS_ALONE:
            k = query.sparse_top_k or k
        filters = combined(
            filters_from_llama_index(query.filters),
            # Retrievers give empty lists where they mean all.
            None if not query.doc_ids else {REF_DOC_ID: {"$in": list(query.doc_ids)}},
            None if not query.node_ids else {"$id": list(query.node_ids)},
        )
        carried: dict[str, Any] = {"fields": []} if self.is_diverse else {"include_text": True}
        self.arguments: dict[str, Any] = {"k": max(k, int(k * factor)) if self.is_diverse else k, "filters": filters, **carried, **rest}
        if self.words is not None:
            alpha = query.alpha if query.alpha is not None else 0.5
            self.arguments["alpha"] = 0.0 if mode in _WORDS_ALONE else alpha

    def ids(self, hits: Sequence[Hit | HybridHit]) -> list[str]:
        """What to fetch where the embeddings of hits are needed."""
        return [hit.external_id for hit in hits]

    def result(self, hits: Sequence[Hit | HybridHit], items: Sequence[Hit | HybridHit | StoredVector]) -> VectorStoreQueryResult:
        """The nodes of the hits, from these themselves, or of diverse ones from what was fetched; what was deleted before is left out."""
        by_id = {item.external_id: item for item in items}
        scored = [(by_id[hit.external_id], hit.score) for hit in hits if hit.external_id in by_id]
        if self.is_diverse and scored:
            scored = [*self._diverse([item for item, _ in scored if isinstance(item, StoredVector)])]
        return VectorStoreQueryResult(
            nodes=[node_from_stored(item) for item, _ in scored],
            similarities=[score for _, score in scored],
            ids=[item.external_id for item, _ in scored],
        )

    def _diverse(self, items: Sequence[StoredVector]) -> list[tuple[StoredVector, float]]:
        by_id = {item.external_id: item for item in items}
        scores, ids = get_top_k_mmr_embeddings(
            self.vector or [],
            [item.vector or [] for item in items],
            similarity_top_k=self.query.similarity_top_k,
            embedding_ids=list(by_id),
            mmr_threshold=self.mmr_threshold,
        )
        return [(by_id[one], score) for one, score in zip(ids, scores, strict=True)]
