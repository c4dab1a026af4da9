"""The cluster behind the service."""

from __future__ import annotations

from dataclasses import dataclass

from .. import operations
from ..models import Adoption, ClusterNode, ClusterState
from .transport import AsyncTransport


@dataclass(frozen=True)
class AsyncCluster:
    """Nodes, shards and moves; needs an admin key."""

    _transport: AsyncTransport

    async def state(self) -> ClusterState:
        """Members, shards, and what moves. The embedded form answers with its one node."""
        return await self._transport.call(operations.CLUSTER, ClusterState)

    async def drain(self, node_id: str) -> ClusterNode:
        """Moves every shard away from a node, which then says ``drained``."""
        return await self._transport.call(operations.DRAIN, ClusterNode, path={"id": node_id})

    async def undrain(self, node_id: str) -> ClusterNode:
        """Lets a node hold shards again."""
        return await self._transport.call(operations.UNDRAIN, ClusterNode, path={"id": node_id})

    async def adopt(self, collection: str, shard: int, *, node: str) -> Adoption:
        """Makes one replica of a shard what counts, after etcd was put back."""
        path = {"collection": collection, "shard": shard}
        return await self._transport.call(operations.ADOPT, Adoption, path=path, body={"node": node})
