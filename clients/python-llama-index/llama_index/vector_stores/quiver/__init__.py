"""LlamaIndex's vector store on Quiver."""

from .base import QuiverVectorStore
from .filters import filters_from_llama_index

__all__ = ["QuiverVectorStore", "filters_from_llama_index"]
