import { z } from 'zod';
import type { AliasAction } from '../../service/aliases-service';
import { boundedArray, collectionName } from '../fields/fields';
import { report } from '../fields/issue';

/** Each is a guard or two of one transaction, of which etcd takes 128. */
const ACTIONS_MAX = 50;

const moved = z.object({ alias: collectionName, collection: collectionName });
const gone = z.object({ alias: collectionName });

const action = z
  .object({
    create: moved.optional().meta({ description: 'A new alias of a collection.' }),
    switch: moved.optional().meta({ description: 'The alias is moved to this collection.' }),
    delete: gone.optional(),
  })
  .transform((given, context): AliasAction => {
    const [only, ...more] = Object.entries(given).filter(([, value]) => value !== undefined);
    if (only === undefined || more.length > 0) {
      report(context, given, 'must have one of create, switch and delete');
      return z.NEVER;
    }
    const [type, { alias, collection }] = only as [AliasAction['type'], { alias: string; collection?: string }];
    return type === 'delete' ? { type, alias } : { type, alias, collection: collection! };
  });

export const aliasesBody = z.object({
  actions: boundedArray(action, ACTIONS_MAX)
    .meta({ description: `1 to ${ACTIONS_MAX}, done in this order.` })
    .superRefine((actions, context) => {
      if (actions.length === 0) report(context, actions, 'must not be empty');
    }),
});

const alias = z
  .object({
    alias: z.string(),
    collection: z.string().meta({ description: 'The own name of the collection.' }),
    created_at: z.iso.datetime(),
    switched_at: z.iso.datetime().nullable().meta({ description: 'When it was last moved; null: never.' }),
  })
  .meta({ id: 'Alias' });

export const aliasesAnswer = z.object({ aliases: z.array(alias) });
