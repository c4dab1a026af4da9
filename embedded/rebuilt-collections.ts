import { join } from 'node:path';
import { type CollectionRecord, defaultMinInSync } from '../coordinator/service/collections/collection-record';
import type { KeyValueStore } from '../node/engine/kv/key-value-store';
import { RocksKeyValueStore } from '../node/engine/kv/rocks-key-value-store';
import { RecordStore } from '../node/engine/records/record-store';
import { STAGE_KEY } from '../node/engine/records/record-keys';
import { stageToBytes } from '../node/engine/records/shard-stage-state';
import { blankSpec } from '../node/engine/shard/opening/rest-note';
import { isDamage } from '../shared/base/errors/quiver-error';
import { shardOf } from '../shared/contract/shard/shard-of';
import type { KeywordFields } from '../shared/contract/shard/keyword-fields';
import type { Language } from '../shared/base/text/language';
import type { Metric } from '../shared/contract/vector/metric';
import { DEFAULT_QUANTIZATION } from '../shared/contract/vector/quantization';
import { collectionFolders, shardFolders, SHARDS_FOLDER } from './cluster-folder';
import { type CollectionNote, readCollectionNote } from './collection-notes';

/** So many ids of each shard are looked at for whether the number of shards is right. */
const IDS_LOOKED_AT = 100;

/** What can be listed again by what lies on the disk, and what can't, with the reason. */
export interface RebuiltCollections {
  listed: { record: CollectionRecord; remark: string }[];
  leftOut: { uid: string; why: string }[];
}

/**
 * The collections whose shards are in the data folder, by what is noted beside them, or, where an earlier version noted
 * nothing, by what the shards say of themselves. Opens shards, so no process may have them open. Errors:
 * storage_failed.
 */
export async function rebuiltCollections(dataDir: string, nowIso: string): Promise<RebuiltCollections> {
  const rebuilt: RebuiltCollections = { listed: [], leftOut: [] };
  const noted: CollectionNote[] = [];
  for (const uid of await collectionFolders(dataDir)) {
    const note = await readCollectionNote(dataDir, uid);
    if (note !== null) {
      noted.push(note);
      continue;
    }
    const made = await collectionOfShards(dataDir, uid, nowIso);
    if (typeof made === 'string') rebuilt.leftOut.push({ uid, why: made });
    else
      rebuilt.listed.push({
        record: made,
        remark:
          'no note lies beside its shards: name, description, quota, synonyms, stop words, quantization and model of its texts are not known',
      });
  }
  noted.sort((a, b) => b.order - a.order);
  const names = new Set<string>();
  for (const { record } of noted) {
    if (names.has(record.name))
      rebuilt.leftOut.push({ uid: record.uid, why: `others of collection "${record.name}" were in use last` });
    else rebuilt.listed.push({ record, remark: await missingShards(dataDir, record) });
    names.add(record.name);
  }
  rebuilt.listed.sort((a, b) => (a.record.name < b.record.name ? -1 : 1));
  return rebuilt;
}

async function missingShards(dataDir: string, { uid, shards }: CollectionRecord): Promise<string> {
  const found = new Set(await shardFolders(dataDir, uid));
  const missing = Array.from({ length: shards }, (_, shard) => shard).filter((shard) => !found.has(shard));
  return missing.length === 0
    ? ''
    : `${missing.length === 1 ? 'shard' : 'shards'} ${missing.join(', ')} of ${shards} missing`;
}

/**
 * Has the shards of a collection answer as those of one that is not changing its number of shards: what became of a
 * reshard is not known any more. Answers the shards that can't be opened. Errors: storage_failed, also while a process
 * has one open.
 */
export async function openStages(dataDir: string, { uid }: CollectionRecord): Promise<number[]> {
  const damaged: number[] = [];
  for (const shard of await shardFolders(dataDir, uid)) {
    if (blankIn(dataDir, uid, shard) !== null) continue;
    const open = opened(dataDir, uid, shard, async (records, store) => {
      const stageState = await records.stageState();
      if (stageState.stage === 'open') return;
      const { lastChange } = stageState;
      await store.write(
        [
          {
            type: 'put',
            key: STAGE_KEY,
            value: stageToBytes({ ...stageState, stage: 'open', since: 0, forgotten: lastChange }),
          },
        ],
        { sync: true },
      );
      await records.forgetChanges(lastChange);
    });
    await open.catch((error: unknown) => {
      if (!isDamage(error)) throw error;
      damaged.push(shard);
    });
  }
  return damaged;
}

/** By what the shards say of themselves; a text says why it can't be listed. */
async function collectionOfShards(dataDir: string, uid: string, nowIso: string): Promise<CollectionRecord | string> {
  const numbers = await shardFolders(dataDir, uid);
  const shards = numbers.length;
  if (numbers.some((number, at) => number !== at))
    return `of its shards only ${numbers.join(', ')} are there, and nothing says how many it had`;
  let stored = '';
  let items = 0;
  for (const shard of numbers) {
    const blank = blankIn(dataDir, uid, shard);
    if (blank !== null) {
      stored = blank;
      continue;
    }
    const found = await opened(dataDir, uid, shard, async (records) => {
      const { stage } = await records.stageState();
      const ids: string[] = [];
      for await (const page of records.order(null, IDS_LOOKED_AT)) {
        ids.push(...page.map(({ externalId }) => externalId));
        break;
      }
      return { stage, ids, spec: await records.spec() };
    }).catch((error: unknown) => {
      if (!isDamage(error)) throw error;
      return null;
    });
    if (found === null || found.spec === null) return `shard ${shard} is damaged, and no note lies beside it`;
    if (found.stage !== 'open' && found.stage !== 'tracking')
      return 'it was being filled or given up, and was not in use';
    if (found.ids.some((id) => shardOf(id, shards) !== shard))
      return `it had another number of shards than the ${shards} that are there`;
    items += found.ids.length;
    stored = found.spec;
  }
  const {
    uid: ownUid,
    dim,
    metric,
    language,
    keywordFields,
  } = JSON.parse(stored) as {
    uid: string;
    dim: number;
    metric: Metric;
    language?: Language;
    keywordFields?: KeywordFields;
  };
  // It may be one that was being made, or of a reshard that had begun.
  if (items === 0)
    return `it is empty (${shards} ${shards === 1 ? 'shard' : 'shards'}, dim ${dim}, ${metric}), and no note lies beside it: create it again where it is missed`;
  if (ownUid !== uid) return `its shards are those of ${ownUid}`;
  return {
    uid,
    identity: uid,
    name: `recovered-${uid.slice(0, 12)}`,
    dim,
    metric,
    description: null,
    language: language ?? null,
    ...(keywordFields !== undefined && { keywordFields }),
    quantization: DEFAULT_QUANTIZATION,
    shards,
    replicas: 1,
    minInSync: defaultMinInSync(1),
    createdAt: nowIso,
    ttlSeconds: null,
    embeddingModel: null,
    state: 'ready',
  };
}

/** The specification of a shard that nobody has written to; null: it is none. */
function blankIn(dataDir: string, uid: string, shard: number): string | null {
  return blankSpec(join(dataDir, SHARDS_FOLDER, uid, String(shard)));
}

async function opened<Found>(
  dataDir: string,
  uid: string,
  shard: number,
  look: (records: RecordStore, store: KeyValueStore) => Promise<Found>,
): Promise<Found> {
  const store = await RocksKeyValueStore.open(join(dataDir, SHARDS_FOLDER, uid, String(shard), 'records'), undefined, {
    mustExist: true,
  });
  const records = new RecordStore(store);
  try {
    return await look(records, store);
  } finally {
    await records.close();
  }
}
