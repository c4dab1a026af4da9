// Generated from the OpenAPI document; `UPDATE=1 npm test -- test/unit/clients/typescript/src/generated` writes it anew.
import { fieldsBody } from '../bodies';
import type { CallOptions } from '../request';
import type { Transport } from '../transport';
import type { Operations } from './api-types';

/** What a collection does of which nothing is written by hand. */
export class CollectionCalls {
  protected readonly path: string;

  constructor(
    protected readonly transport: Transport,
    readonly name: string,
  ) {
    this.path = `/v1/collections/${encodeURIComponent(name)}`;
  }

  /** Make vectors of texts, as the collection does. */
  async embed(request: Operations['post_collections_name_embed']['body'], options?: CallOptions): Promise<Operations['post_collections_name_embed']['answer']> {
    return this.transport.data(
      { method: 'POST', path: `${this.path}/embed`, json: fieldsBody(request), isRepeatable: true },
      options,
    );
  }

  /** Count values: facets, ranges, statistics, groups. */
  async aggregate(request: Operations['post_collections_name_aggregate']['body'], options?: CallOptions): Promise<Operations['post_collections_name_aggregate']['answer']> {
    return this.transport.data(
      { method: 'POST', path: `${this.path}/aggregate`, json: fieldsBody(request), isRepeatable: true },
      options,
    );
  }
}
