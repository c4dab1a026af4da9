import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
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

/**
 * Waits until everybody knows what was done with aliases. Not within what an Idempotency-Key has done once: that is
 * done, and its repetition has to wait all the same. Errors: unavailable.
 */
export async function settled(aliases: Pick<AliasesService, 'settled'>, done: string): Promise<void> {
  try {
    await aliases.settled();
  } catch (error) {
    if (!isQuiverError(error) || error.kind !== 'unavailable') throw error;
    throw new QuiverError('unavailable', `${done}, but ${error.message}`, { cause: error });
  }
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
      collections: { type: 'judged' },
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
        about(
          aliasTarget(
            body.actions.map((action) =>
              action.type === 'delete'
                ? `delete ${action.alias}`
                : `${action.type} ${action.alias}>${action.collection}`,
            ),
          ),
        );
        const changed = await inStore((dedup) => aliases.change(body.actions, scopedOf(key), dedup));
        await settled(aliases, 'the aliases were changed');
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

/** What the audit log says of aliases that a request changes. */
export function aliasTarget(actions: string[]): string {
  return `aliases:${actions.join(',')}`.slice(0, TARGET_MAX);
}
