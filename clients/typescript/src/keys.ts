import type { KeyChange, KeyDeleted, NewKey } from './api';
import type { ApiKey, ApiKeyWithSecret, Usage, UsageSummary } from './generated/api-types';
import type { CallOptions } from './request';
import type { Transport } from './transport';

const PATH = '/v1/admin/keys';

/** API keys (admin). */
export class KeysApi {
  constructor(private readonly transport: Transport) {}

  /** Makes a key; its secret is in this answer and never again. */
  async create(key: NewKey, options?: CallOptions): Promise<ApiKeyWithSecret> {
    return this.transport.data({ method: 'POST', path: PATH, json: key }, options);
  }

  async list(options?: CallOptions): Promise<ApiKey[]> {
    return (await this.transport.data<{ keys: ApiKey[] }>({ method: 'GET', path: PATH }, options)).keys;
  }

  async get(id: number, options?: CallOptions): Promise<ApiKey> {
    return this.transport.data({ method: 'GET', path: `${PATH}/${id}` }, options);
  }

  /** Renames it, changes its role, switches it off or on. */
  async update(id: number, change: KeyChange, options?: CallOptions): Promise<ApiKey> {
    return this.transport.data({ method: 'PATCH', path: `${PATH}/${id}`, json: change, isRepeatable: true }, options);
  }

  async delete(id: number, options?: CallOptions): Promise<KeyDeleted> {
    return this.transport.data({ method: 'DELETE', path: `${PATH}/${id}` }, options);
  }

  /** Gives it a new secret, which is in this answer and never again. */
  async rotate(id: number, options?: CallOptions): Promise<ApiKeyWithSecret> {
    return this.transport.data({ method: 'POST', path: `${PATH}/${id}/rotate` }, options);
  }

  /** Requests that were made with it. */
  async usage(id: number, options?: CallOptions): Promise<Usage> {
    return this.transport.data({ method: 'GET', path: `${PATH}/${id}/usage` }, options);
  }

  /** Requests that were made with all keys. */
  async usageSummary(options?: CallOptions): Promise<UsageSummary> {
    return this.transport.data({ method: 'GET', path: `${PATH}/usage/summary` }, options);
  }
}
