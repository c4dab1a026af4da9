"""Nodes as items of Quiver, and back."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict

from quiver_client import Item, StoredVector
from quiver_client.models import Hit, HybridHit

NODE = "_node"
"""The one key of an item's metadata that is not the node's own."""
REF_DOC_ID = f"{NODE}.ref_doc_id"


def item_from_node(node: BaseNode) -> Item:
    """A node with its embedding as an item.

    The node's metadata are the item's, its text the item's text. The rest of it (relationships, templates, what is kept from
    models) is packed: as plain text it would be searched by hybrid searches.
    """
    if NODE in node.metadata:
        raise ValueError(f"the key {NODE!r} of a node's metadata is taken")
    fields = node_to_metadata_dict(node, remove_text=True, flat_metadata=False)
    content = json.loads(fields["_node_content"])
    content["metadata"] = {}
    packed = base64.urlsafe_b64encode(zlib.compress(json.dumps(content, ensure_ascii=False).encode())).decode()
    own: dict[str, Any] = {"type": fields["_node_type"], "content": packed}
    if node.ref_doc_id is not None:
        own["ref_doc_id"] = node.ref_doc_id
    return Item(
        external_id=node.node_id,
        vector=node.get_embedding(),
        text=node.get_content(metadata_mode=MetadataMode.NONE),
        metadata={**node.metadata, NODE: own},
    )


def node_from_stored(item: StoredVector | Hit | HybridHit) -> BaseNode:
    """The node that was stored; with its embedding, if the item came with its vector. Hits must have their texts."""
    metadata = dict(item.metadata)
    own = metadata.pop(NODE, None)
    if not isinstance(own, dict):
        raise ValueError(  # noqa: TRY004
            f"{item.external_id!r} was not stored by LlamaIndex: its metadata have no {NODE!r}"
        )
    content = json.loads(zlib.decompress(base64.urlsafe_b64decode(own["content"])))
    node = metadata_dict_to_node({"_node_content": json.dumps(content), "_node_type": own["type"]}, text=item.text or "")
    node.metadata = metadata
    node.embedding = item.vector if isinstance(item, StoredVector) else None
    return node
