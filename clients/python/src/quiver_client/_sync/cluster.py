# Written from ../_async by `UPDATE=1 npm test -- test/unit/clients/python`: edit that.
"""The cluster behind the service."""

from __future__ import annotations

from dataclasses import dataclass

from .. import operations
from ..models import Adoption, ClusterNode, ClusterState
from .transport import Transport


@dataclass(frozen=True)
class Cluster:
    """Nodes, shards and moves; needs an admin key."""

    _transport: Transport

    def state(self) -> ClusterState:
        """Members, shards, and what moves. The embedded form answers with its one node."""
        return self._transport.call(operations.CLUSTER, ClusterState)

    def drain(self, node_id: str) -> ClusterNode:
        """Moves every shard away from a node, which then says ``drained``."""
        return self._transport.call(operations.DRAIN, ClusterNode, path={"id": node_id})

    def undrain(self, node_id: str) -> ClusterNode:
        """Lets a node hold shards again."""
        return self._transport.call(operations.UNDRAIN, ClusterNode, path={"id": node_id})

    def adopt(self, collection: str, shard: int, *, node: str) -> Adoption:
        """Makes one replica of a shard what counts, after etcd was put back."""
        path = {"collection": collection, "shard": shard}
        return self._transport.call(operations.ADOPT, Adoption, path=path, body={"node": node})
