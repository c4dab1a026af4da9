import type { AliasesService, AliasView } from '../../service/aliases-service';
import { scopedOf } from '../requests/authorisation';
import * as schemas from '../schema/alias-schemas';
import { dataAnswer, defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';

const tag = 'Collections';
const template = '/v1/aliases';

function aliasData({ alias, collection, createdAt, switchedAt }: AliasView) {
  return { alias, collection, created_at: createdAt, switched_at: switchedAt };
}

/** Who may do what follows from the names in the body, so the service judges it. */
export function aliasEndpoints({
  aliases,
}: {
  aliases: Pick<AliasesService, 'list' | 'change' | 'settled'>;
}): Endpoint[] {
  return [
    defineEndpoint({
      method: 'POST',
      template,
      access: 'readwrite',
      collections: { type: 'own' },
      isAdministrative: true,
      tag,
      summary: 'Create, switch and delete aliases: all of it, or nothing',
      description:
        'An alias is another name of a collection: every endpoint takes it, and answers with the collection’s own. ' +
        '`switch` moves it to another collection: a request that begins after the answer sees the new one, ' +
        'through whichever coordinator. Aliases and collections are one name space. ' +
        'Needs the role readwrite for the alias and for the collection that gets it; ' +
        'who uses an alias needs rights for the collection, or a key that names the alias. ' +
        'Answers the aliases that are named, as they are then.',
      body: {
        type: 'json',
        required: true,
        schema: schemas.aliasesBody,
        example: { actions: [{ create: { alias: 'current', collection: 'articles' } }] },
      },
      answer: { type: 'data', schema: schemas.aliasesAnswer },
      errors: [400, 403, 404, 409],
      isOnce: true,
      handle: async ({ body, key, about, inStore }) => {
        about(`aliases:${[...new Set(body.actions.map(({ alias }) => alias))].join(',')}`.slice(0, TARGET_MAX));
        let isDone = false;
        const changed = await inStore((dedup) => {
          isDone = true;
          return aliases.change(body.actions, scopedOf(key), dedup);
        });
        // An earlier request did it, and its answer may have been lost before everybody knew.
        if (!isDone) await aliases.settled();
        return dataAnswer({ aliases: changed.map(aliasData) });
      },
    }),
    defineEndpoint({
      method: 'GET',
      template,
      isWatched: true,
      access: 'readonly',
      collections: { type: 'own' },
      tag,
      summary: 'List the aliases of collections that the key may use, by name',
      answer: { type: 'data', schema: schemas.aliasesAnswer },
      handle: async ({ key }) => dataAnswer({ aliases: (await aliases.list(scopedOf(key))).map(aliasData) }),
    }),
  ];
}

/** Characters of what the audit log says of one request. */
const TARGET_MAX = 1_000;
