"""LangChain's vector store on Quiver."""

from .filters import QuiverTranslator
from .vectorstore import QuiverVectorStore

__all__ = ["QuiverTranslator", "QuiverVectorStore"]
