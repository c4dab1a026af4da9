import { z } from 'zod';
import { REQUEST_BOUNDS } from '../requests/http-limits';
import { boundedArray, collectionName, integer, optional, withDefault } from '../fields/fields';

const NAMES_MAX = 10_000;

const target = z.string().min(1).max(1024);
export const targetQuery = z.object({ target: target.optional() });
export const backupParameters = z.object({ id: z.string().min(1).max(64) });

export const newBackupBody = z.object({
  collections: optional(boundedArray(collectionName, NAMES_MAX)),
  target: optional(target),
});

const logPositions = z
  .object({
    positions: z.record(collectionName, boundedArray(integer(0, Number.MAX_SAFE_INTEGER), REQUEST_BOUNDS.shardsMax)),
  })
  .meta({ id: 'LogPositions' });

export const restoreBody = z.object({
  backup: optional(z.string().min(1).max(64)).meta({
    description: 'With `until`: the one that it is reached from; otherwise the newest that leads there.',
  }),
  until: optional(z.union([z.iso.datetime({ offset: true }), logPositions])).meta({
    description:
      'A time: what was acknowledged by then, and nothing that began later. Or, by collection, the last entry of the log of each of its shards, in their order. Needs `BACKUP_LOG=true`.',
  }),
  target: optional(target),
  collections: optional(boundedArray(collectionName, NAMES_MAX)),
  rename: withDefault(z.record(collectionName, collectionName), {}).meta({
    description: 'By the name in the backup: a name that is free, or that of a collection which is empty.',
  }),
  shards: optional(integer(1, REQUEST_BOUNDS.shardsMax)).meta({
    description: 'Default: as in the backup, or as the empty collection has.',
  }),
  replicas: optional(integer(1, REQUEST_BOUNDS.replicasMax)).meta({
    description: 'Default: as in the backup, or as the empty collection has.',
  }),
  keys: withDefault(z.boolean(), false),
  unsealed: withDefault(z.boolean(), false).meta({
    description:
      'Take on trust the keys, and the logs that lead to a moment, which this service has not sealed: whoever can write to the target may have made them.',
  }),
});

const verificationAnswer = z.object({
  state: z.enum(['running', 'done']),
  objects: z.int(),
  of: z.int(),
  bytes: z.int(),
  damaged: z
    .array(z.string())
    .meta({ description: 'Objects that are missing or differ from what was written; at most 100.' }),
  checked_at: z.iso.datetime().nullable(),
});

const shardPosition = z
  .int()
  .nullable()
  .meta({ description: 'The last entry of the shard’s log that is in it; null: not known.' });

export const backupAnswer = z
  .object({
    id: z.string(),
    target: z.string(),
    state: z.enum(['running', 'cancelling', 'done', 'failed', 'deleting', 'unreadable']),
    started_at: z.iso.datetime().nullable(),
    ended_at: z.iso.datetime().nullable(),
    error: z.string().nullable(),
    sealed: z.boolean().nullable().meta({
      description:
        'Whether it is sealed by this service, so that nobody else has made or changed it; null: it is not finished.',
    }),
    warnings: z.array(z.string()).meta({ description: 'What it lacks, in words.' }),
    left_out: z
      .array(z.object({ name: z.string(), reason: z.string() }))
      .meta({ description: 'Collections that it was to have and lacks: a shard was damaged, or did not answer.' }),
    waits_for: z.string().nullable().meta({
      description:
        'Of one under way: a shard that did not answer the last time, and why; it is asked again. null: there is none.',
    }),
    progress: z.number().meta({ description: 'Share of the shards that are done.' }),
    copied_bytes: z.int().meta({ description: 'What this backup wrote itself.' }),
    total_bytes: z.int().meta({ description: 'All that it consists of, with what earlier backups wrote.' }),
    items: z.int(),
    collections: z.array(
      z.object({
        name: z.string(),
        shards: z.array(
          z.object({
            shard: z.int(),
            state: z.enum(['waiting', 'running', 'done']),
            items: z.int(),
            copied_bytes: z.int().nullable(),
            total_bytes: z.int(),
            position: shardPosition,
          }),
        ),
      }),
    ),
    verification: verificationAnswer.nullable().meta({ description: 'The last one, or the one under way.' }),
  })
  .meta({ id: 'Backup' });

export const restorableAnswer = z
  .object({
    name: z.string(),
    deleted_at: z.iso.datetime().nullable(),
    from: z.iso.datetime().nullable().meta({
      description: 'Null: it can’t be restored to a moment before there is a backup that its log goes on from.',
    }),
    until: z.iso.datetime().nullable(),
    shards: z.array(
      z.object({
        shard: z.int(),
        position: z.int().nullable().meta({ description: 'The last entry of its log that is in the target.' }),
        gaps: z.int().meta({
          description: 'How often entries were given up that are not in the target, since its primary began.',
        }),
        error: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: 'RestorableCollection' });

export const backupsAnswer = z.object({
  backups: z.array(backupAnswer),
  restorable: z
    .array(restorableAnswer)
    .meta({ description: 'With `BACKUP_LOG=true`: from when to when collections can be restored to any moment.' }),
});

export const restoreAnswer = z
  .object({
    id: z.string(),
    backup: z.string().meta({ description: 'Empty: it is restored from the log alone.' }),
    until: z.string().nullable().meta({ description: 'The moment that was asked for; null: that of the backup.' }),
    target: z.string(),
    state: z.enum(['running', 'cancelling', 'failed', 'done']),
    keys: z.boolean(),
    warnings: z.array(z.string()).meta({ description: 'What to look at afterwards.' }),
    started_at: z.iso.datetime(),
    ended_at: z.iso.datetime().nullable(),
    error: z.string().nullable(),
    progress: z.number().meta({ description: 'Share of the shards that serve.' }),
    collections: z.array(z.object({ from: z.string(), name: z.string(), shards: z.int(), shards_ready: z.int() })),
  })
  .meta({ id: 'Restore' });

export const restoresAnswer = z.object({ restores: z.array(restoreAnswer) });
