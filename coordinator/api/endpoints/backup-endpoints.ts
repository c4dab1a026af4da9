import type { BackupsService, BackupView, RestoreView } from '../../service/service';
import { dataAnswer, defineEndpoint } from './define-endpoint';
import type { Endpoint } from './endpoint';
import * as schemas from '../schema/backup-schemas';

const tag = 'Backups';
const EXAMPLE_ID = '20260701T030000Z-1f2e3d4c';

function backupData({
  startedAt,
  endedAt,
  leftOut,
  waitsFor,
  copiedBytes,
  totalBytes,
  collections,
  verification,
  ...rest
}: BackupView) {
  return {
    ...rest,
    started_at: startedAt === '' ? null : startedAt,
    ended_at: endedAt,
    left_out: leftOut,
    warnings: leftOut.map(({ name, reason }) => `collection "${name}" is not in it: ${reason}`),
    waits_for: waitsFor,
    copied_bytes: copiedBytes,
    total_bytes: totalBytes,
    collections: collections.map(({ name, shards }) => ({
      name,
      shards: shards.map(({ shard, state, items, ...bytes }) => ({
        shard,
        state,
        items,
        copied_bytes: bytes.copiedBytes,
        total_bytes: bytes.totalBytes,
        position: bytes.position ?? null,
      })),
    })),
    verification:
      verification === null
        ? null
        : {
            state: verification.state,
            objects: verification.objects,
            of: verification.of,
            bytes: verification.bytes,
            damaged: verification.damaged,
            checked_at: verification.checkedAt,
          },
  };
}

function restoreData({ startedAt, endedAt, collections, ...rest }: RestoreView) {
  return {
    ...rest,
    started_at: startedAt,
    ended_at: endedAt,
    collections: collections.map(({ from, name, shards, shardsReady }) => ({
      from,
      name,
      shards,
      shards_ready: shardsReady,
    })),
  };
}

export function backupEndpoints({ backups }: { backups: BackupsService }): Endpoint[] {
  return [
    defineEndpoint({
      method: 'POST',
      template: '/v1/admin/backups',
      access: 'admin',
      tag,
      summary: 'Begin a backup',
      description:
        'Every write that was acknowledged before the call is in it. Storage nodes write to the target themselves, while reads and writes go on; `GET /v1/admin/backups/{id}` tells how far it is. A collection of which a shard is damaged, or does not answer, is left out; the others are taken.',
      body: { type: 'json', required: false, schema: schemas.newBackupBody, example: { collections: ['colours'] } },
      answer: { type: 'data', schema: schemas.backupAnswer },
      errors: [404],
      isOnce: true,
      handle: async ({ body, about, inStore, resolve }) => {
        const named = body?.collections;
        const collections = named && [...new Set(await Promise.all(named.map(async (name) => resolve(name))))];
        const begun = await inStore((dedup) => backups.create({ collections, target: body?.target }, dedup));
        about(`backup:${begun.id}`);
        return dataAnswer(backupData(begun));
      },
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/admin/backups',
      access: 'admin',
      tag,
      summary: 'List backups, the newest first, and what can be restored to any moment',
      query: schemas.targetQuery,
      answer: { type: 'data', schema: schemas.backupsAnswer },
      handle: async ({ query }) => {
        const [listed, restorable] = await Promise.all([backups.list(query.target), backups.restorable(query.target)]);
        return dataAnswer({
          backups: listed.map(backupData),
          restorable: restorable.map(({ deletedAt, ...rest }) => ({ ...rest, deleted_at: deletedAt })),
        });
      },
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/admin/backups/{id}',
      access: 'admin',
      tag,
      summary: 'A backup: how far it is, and what is in it',
      path: schemas.backupParameters,
      query: schemas.targetQuery,
      answer: { type: 'data', schema: schemas.backupAnswer },
      errors: [404],
      handle: async ({ path, query }) => dataAnswer(backupData(await backups.get(path.id, query.target))),
    }),
    defineEndpoint({
      method: 'DELETE',
      template: '/v1/admin/backups/{id}',
      access: 'admin',
      tag,
      summary: 'Delete a backup, or give one up that is under way',
      description: 'What other backups need of it stays. One that is being restored is not deleted.',
      path: schemas.backupParameters,
      query: schemas.targetQuery,
      answer: { type: 'data', schema: schemas.backupAnswer },
      errors: [404, 409],
      isOnce: true,
      handle: async ({ path, query, inStore }) =>
        dataAnswer(backupData(await inStore((dedup) => backups.delete(path.id, query.target, dedup)))),
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/admin/backups/{id}/verify',
      access: 'admin',
      tag,
      summary: 'Read every object of a backup and compare it with its checksum',
      description: 'Begins it; `GET /v1/admin/backups/{id}` says what was found.',
      path: schemas.backupParameters,
      query: schemas.targetQuery,
      answer: { type: 'data', schema: schemas.backupAnswer },
      errors: [404],
      handle: async ({ path, query }) => dataAnswer(backupData(await backups.verify(path.id, query.target))),
    }),
    defineEndpoint({
      method: 'POST',
      template: '/v1/admin/restore',
      access: 'admin',
      tag,
      summary: 'Restore collections from a backup',
      description:
        'Into names that are free, or those of collections that are there and empty; `rename` gives others than ' +
        'in the backup. With the number of shards that they had, their indexes come from the backup. Nothing is ' +
        'visible before all of it serves; then the collections become visible one after the other, those that ' +
        'were there first. A collection that is there keeps its settings, and must be like the one in the backup ' +
        '(dim, distance_metric, language, quantization, embedding_model). Somebody who writes to it meanwhile ' +
        'keeps what was written: then the restore fails, and `error` names those that had taken their place by ' +
        'then, which stay. With `until`, to any moment that `GET /v1/admin/backups` calls restorable. What this ' +
        'service has not sealed is restored with a warning; its keys are not, unless `unsealed` says so.',
      body: {
        type: 'json',
        required: true,
        schema: schemas.restoreBody,
        example: { backup: EXAMPLE_ID, collections: ['colours'], rename: { colours: 'colours-before' } },
      },
      answer: { type: 'data', schema: schemas.restoreAnswer },
      errors: [404, 409],
      isOnce: true,
      handle: async ({ body, about, inStore }) => {
        if (body.backup !== undefined) about(`backup:${body.backup}`);
        const begun = await inStore((dedup) => backups.restore(body, dedup));
        about(`restore:${begun.id}`);
        return dataAnswer(restoreData(begun));
      },
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/admin/restores',
      access: 'admin',
      tag,
      summary: 'List restores, the newest first',
      answer: { type: 'data', schema: schemas.restoresAnswer },
      handle: async () => dataAnswer({ restores: (await backups.restores()).map(restoreData) }),
    }),
    defineEndpoint({
      method: 'GET',
      template: '/v1/admin/restores/{id}',
      access: 'admin',
      tag,
      summary: 'A restore: how far it is',
      path: schemas.backupParameters,
      answer: { type: 'data', schema: schemas.restoreAnswer },
      errors: [404],
      handle: async ({ path }) => dataAnswer(restoreData(await backups.restoreState(path.id))),
    }),
    defineEndpoint({
      method: 'DELETE',
      template: '/v1/admin/restores/{id}',
      access: 'admin',
      tag,
      summary: 'Give a restore up, or forget one that is over',
      description:
        'Nothing is left of one that is given up. From when the first of its collections takes its place, it is ' +
        'too late for that (409): it goes on.',
      path: schemas.backupParameters,
      answer: { type: 'data', schema: schemas.restoreAnswer },
      errors: [404, 409],
      isOnce: true,
      handle: async ({ path, inStore }) =>
        dataAnswer(restoreData(await inStore((dedup) => backups.cancelRestore(path.id, dedup)))),
    }),
  ];
}
