"""Haystack's document store on Quiver."""

from .document_store import QuiverDocumentStore
from .filters import filters_from_haystack

__all__ = ["QuiverDocumentStore", "filters_from_haystack"]
