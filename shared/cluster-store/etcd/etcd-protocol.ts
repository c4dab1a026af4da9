import { join } from 'node:path';
import type { MethodDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { packageRoot } from '../../base/process/package-root';

/**
 * The messages of etcd's v3 API (proto/etcd), as far as we use them. 64-bit integers are decimal strings, so no digit
 * is lost.
 */
export interface EtcdRange {
  key: Buffer;
  /** The first key after the range. Absent: the range is `key` alone. */
  range_end?: Buffer;
}

export interface RangeRequest extends EtcdRange {
  revision?: number;
  keys_only?: boolean;
  count_only?: boolean;
}

export interface RangeResponse {
  header: { revision: string };
  kvs: KeyValue[];
}

export interface KeyValue {
  key: Buffer;
  value: Buffer;
  /** The store's revision at the last change to the key. */
  mod_revision: string;
}

export interface TxnRequest {
  compare: Compare[];
  success: RequestOp[];
  failure: RequestOp[];
}

export interface Compare {
  key: Buffer;
  target: 'MOD';
  result: 'EQUAL';
  mod_revision: number;
}

export type RequestOp =
  | { request_range: RangeRequest }
  | { request_put: { key: Buffer; value: Buffer; lease: string | 0 } }
  | { request_delete_range: EtcdRange };

export interface TxnResponse {
  header: { revision: string };
  succeeded: boolean;
  responses: ResponseOp[];
}

export interface ResponseOp {
  response_range?: RangeResponse;
}

/** `progress_request` asks how far the member is; it answers with a message without events. */
export type WatchRequest =
  | { create_request: EtcdRange & { start_revision: number } }
  | { progress_request: Record<string, never> };

export interface WatchResponse {
  header: { cluster_id: string; revision: string };
  created: boolean;
  canceled: boolean;
  compact_revision: string;
  /** More events of the same revision follow in the next message. */
  fragment: boolean;
  events: WatchEvent[];
}

export interface WatchEvent {
  type: 'PUT' | 'DELETE';
  kv: KeyValue;
}

type Permission = EtcdRange & { permType: 'READ' | 'READWRITE' };

/** The calls that we make, by the names of etcd's protocol, each as [request, response]. */
export interface EtcdCalls {
  'KV.Range': [RangeRequest, RangeResponse];
  'KV.Txn': [TxnRequest, TxnResponse];
  'Watch.Watch': [WatchRequest, WatchResponse];
  'Lease.LeaseGrant': [{ TTL: number }, { ID: string }];
  'Lease.LeaseRevoke': [{ ID: string }, unknown];
  'Lease.LeaseKeepAlive': [{ ID: string }, { TTL: string }];
  'Auth.Authenticate': [{ name: string; password: string }, { token: string }];
  'Auth.AuthEnable': [Record<string, never>, unknown];
  'Auth.RoleAdd': [{ name: string }, unknown];
  'Auth.RoleGrantPermission': [{ name: string; perm: Permission }, unknown];
  'Auth.UserAdd': [{ name: string; password: string }, unknown];
  'Auth.UserChangePassword': [{ name: string; password: string }, unknown];
  'Auth.UserGrantRole': [{ user: string; role: string }, unknown];
}

export type EtcdMethod = keyof EtcdCalls;
export type EtcdRequest<Method extends EtcdMethod> = EtcdCalls[Method][0];
export type EtcdResponse<Method extends EtcdMethod> = EtcdCalls[Method][1];

const protocol = loadSync(join(packageRoot(__dirname), 'proto/etcd/rpc.proto'), {
  keepCase: true,
  longs: String,
  enums: String,
  defaults: true,
  oneofs: true,
});

/** Path and serialisers of a call. */
export function definitionOf<Method extends EtcdMethod>(
  method: Method,
): MethodDefinition<EtcdRequest<Method>, EtcdResponse<Method>> {
  const [service, name] = method.split('.');
  return (
    protocol[`etcdserverpb.${service}`] as unknown as Record<
      string,
      MethodDefinition<EtcdRequest<Method>, EtcdResponse<Method>>
    >
  )[name];
}
