"""Documents of Haystack as items of Quiver, and back."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from haystack import Document
from haystack.dataclasses import ByteStream, SparseEmbedding

from quiver_client import Item, StoredVector
from quiver_client.models import Hit, HybridHit

WITHOUT_EMBEDDING = "without_embedding"
"""Marks items whose vector is zeros in the place of one: every item of Quiver has a vector."""


def item_from_document(document: Document, dim: int) -> Item:
    """A document as an item: its content is the item's text, and its ``meta`` a member of the item's metadata."""
    metadata: dict[str, Any] = {"meta": document.meta}
    if document.content is None:
        metadata["without_content"] = True
    if document.embedding is None:
        metadata[WITHOUT_EMBEDDING] = True
    if document.blob is not None:
        blob = document.blob
        metadata["blob"] = {"data": base64.b64encode(blob.data).decode(), "meta": blob.meta, "mime_type": blob.mime_type}
    if document.sparse_embedding is not None:
        metadata["sparse_embedding"] = document.sparse_embedding.to_dict()
    vector: Sequence[float] = document.embedding if document.embedding is not None else [0.0] * dim
    return Item(document.id, vector, document.content or "", metadata)


def document_from_stored(item: StoredVector | Hit | HybridHit, *, score: float | None = None) -> Document:
    """The document that was stored; with its embedding, if the item came with its vector. Hits must have their texts."""
    metadata = item.metadata
    vector = item.vector if isinstance(item, StoredVector) else None
    blob, sparse = metadata.get("blob"), metadata.get("sparse_embedding")
    return Document(
        id=item.external_id,
        content=None if metadata.get("without_content") else item.text,
        meta=metadata.get("meta") or {},
        embedding=None if metadata.get(WITHOUT_EMBEDDING) else vector,
        blob=None if blob is None else ByteStream(base64.b64decode(blob["data"]), blob.get("meta") or {}, blob.get("mime_type")),
        sparse_embedding=None if sparse is None else SparseEmbedding.from_dict(sparse),
        score=score,
    )
