import type { KeyChange, KeyDeleted, KeyRotation, NewKey } from './api';
import type { ApiKey, ApiKeyWithSecret, RotatedApiKey, UsageOfKey, UsageSummary } from './generated/api-types';
import type { CallOptions } from './request';
import type { Transport } from './transport';

const PATH = '/v1/admin/keys';

/** API keys (admin). */
export class KeysApi {
  constructor(private readonly transport: Transport) {}

  /**
   * Makes a key, limited to collections, networks, a rate or a quota on request; its secret is in this answer and never
   * again.
   */
  async create(key: NewKey, options?: CallOptions): Promise<ApiKeyWithSecret> {
    return this.transport.data({ method: 'POST', path: PATH, json: key }, options);
  }

  async list(options?: CallOptions): Promise<ApiKey[]> {
    return (await this.transport.data<{ keys: ApiKey[] }>({ method: 'GET', path: PATH }, options)).keys;
  }

  async get(id: number, options?: CallOptions): Promise<ApiKey> {
    return this.transport.data({ method: 'GET', path: `${PATH}/${id}` }, options);
  }

  /**
   * Renames it, changes its role, limits or end, switches it off or on. What is left out stays; null takes a limit
   * away.
   */
  async update(id: number, change: KeyChange, options?: CallOptions): Promise<ApiKey> {
    return this.transport.data({ method: 'PATCH', path: `${PATH}/${id}`, json: change, isRepeatable: true }, options);
  }

  async delete(id: number, options?: CallOptions): Promise<KeyDeleted> {
    return this.transport.data({ method: 'DELETE', path: `${PATH}/${id}` }, options);
  }

  /**
   * Gives it a new secret, which is in this answer and never again. The old one works for `grace_seconds` more, else no
   * longer.
   */
  async rotate(id: number, rotation?: KeyRotation, options?: CallOptions): Promise<RotatedApiKey> {
    return this.transport.data({ method: 'POST', path: `${PATH}/${id}/rotate`, json: rotation }, options);
  }

  /** Requests that were made with it, and what it has stored of its quota. */
  async usage(id: number, options?: CallOptions): Promise<UsageOfKey> {
    return this.transport.data({ method: 'GET', path: `${PATH}/${id}/usage` }, options);
  }

  /** Requests that were made with all keys. */
  async usageSummary(options?: CallOptions): Promise<UsageSummary> {
    return this.transport.data({ method: 'GET', path: `${PATH}/usage/summary` }, options);
  }
}
