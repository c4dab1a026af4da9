"""Haystack's retrievers on Quiver."""

from .retrievers import QuiverEmbeddingRetriever, QuiverHybridRetriever, QuiverKeywordRetriever

__all__ = ["QuiverEmbeddingRetriever", "QuiverHybridRetriever", "QuiverKeywordRetriever"]
