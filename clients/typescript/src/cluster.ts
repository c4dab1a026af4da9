import type { Adopted, ClusterState } from './api';
import type { Node } from './generated/api-types';
import type { CallOptions } from './request';
import type { Transport } from './transport';

/** Nodes and shards (admin). */
export class ClusterApi {
  constructor(private readonly transport: Transport) {}

  /** Coordinators, nodes, shards, moves and reshards. */
  async state(options?: CallOptions): Promise<ClusterState> {
    return this.transport.data({ method: 'GET', path: '/v1/cluster' }, options);
  }

  /** Moves every shard away from a node. */
  async drain(node: string, options?: CallOptions): Promise<Node> {
    return this.post(`nodes/${encodeURIComponent(node)}/drain`, undefined, options);
  }

  /** Lets a node hold shards again. */
  async undrain(node: string, options?: CallOptions): Promise<Node> {
    return this.post(`nodes/${encodeURIComponent(node)}/undrain`, undefined, options);
  }

  /** Makes a node's replica what counts of a shard, after etcd was put back; what it lacks is lost. */
  async adopt(collection: string, shard: number, node: string, options?: CallOptions): Promise<Adopted> {
    return this.post(`shards/${encodeURIComponent(collection)}/${shard}/adopt`, { node }, options);
  }

  private async post<Answer>(path: string, json: unknown, options?: CallOptions): Promise<Answer> {
    return this.transport.data({ method: 'POST', path: `/v1/cluster/${path}`, json, isRepeatable: true }, options);
  }
}
