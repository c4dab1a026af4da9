import { z } from 'zod';
import { SHARDS_MAX } from '../../../shared/backup-store/content-schemas';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import { KEYWORD_FIELDS_MAX, KEYWORD_WEIGHT_MAX } from '../../../shared/contract/shard/keyword-fields';
import { METADATA_STORAGES } from '../../../shared/contract/shard/metadata-storage';
import { ANALYSER_NAMES, LANGUAGES } from '../../../shared/base/text/language';
import { METRICS } from '../../../shared/contract/vector/metric';
import { QUANTIZATIONS } from '../../../shared/contract/vector/quantization';
import { VECTOR_STORAGES } from '../../../shared/contract/vector/vector-storage';
import { collectionFromEntry, type CollectionRecord } from '../../service/collections/collection-record';
import { MODEL_DTYPES } from '../../models/collection-embedding';
import { excessOfStopWords } from '../../service/synonyms/own-stop-words';
import { faultOfRules } from '../../service/synonyms/synonym-rules';
import { type KeyRecord, keyFromEntry } from '../../service/keys/key-record';
import { QUOTA_PERIODS } from '../../service/keys/quota/key-quota';

/**
 * What a record of the cluster store may hold that comes out of a backup: this service did not check it when it came
 * in, and somebody else may have written it.
 */

/** As the API's bounds: of a name, a description, replicas. */
const NAME = /^[A-Za-z0-9_-]{1,255}$/;
const DESCRIPTION_LENGTH_MAX = 20_000;
const REPLICAS_MAX = 5;
/** Beyond all that a setting allows. */
const DIM_MAX = 65_536;
const TEXT_LENGTH_MAX = 1_000;
const ENTRIES_MAX = 10_000;
/** Numbers are never given twice, so there must be room behind it. */
const KEY_ID_MAX = 1_000_000_000;

const uid = z.string().regex(/^[\w-]{1,64}$/);
const text = z.string().max(TEXT_LENGTH_MAX);
/** It becomes part of names in the cluster store. */
const time = z.string().regex(/^[\w:.+-]{0,40}$/);
const words = z.array(z.string());
const most = z.int().min(0).nullable();

const collection = z.object({
  uid,
  identity: uid,
  name: z.string().regex(NAME, 'must be 1 to 255 letters, digits, hyphens or underscores'),
  dim: z.int().min(1).max(DIM_MAX),
  metric: z.enum(METRICS),
  description: z.string().max(DESCRIPTION_LENGTH_MAX).nullable(),
  language: z.enum(LANGUAGES).nullable(),
  keywordFields: z
    .array(
      z.object({
        path: text,
        weight: z.int().min(1).max(KEYWORD_WEIGHT_MAX),
        analyser: z.enum(ANALYSER_NAMES).optional(),
      }),
    )
    .max(KEYWORD_FIELDS_MAX)
    .optional(),
  keywordPositions: z.literal(false).optional(),
  synonyms: z
    .array(z.union([words, z.object({ from: words, to: words })]))
    .superRefine(boundedBy(faultOfRules))
    .optional(),
  stopWords: z.object({ add: words, remove: words }).superRefine(boundedBy(excessOfStopWords)).optional(),
  quantization: z.enum(QUANTIZATIONS),
  metadata: z.enum(METADATA_STORAGES).optional(),
  vectors: z.enum(VECTOR_STORAGES).optional(),
  shards: z.int().min(1).max(SHARDS_MAX),
  replicas: z.int().min(1).max(REPLICAS_MAX),
  minInSync: z.int().min(1).max(REPLICAS_MAX),
  createdAt: time,
  ttlSeconds: z.int().min(1).nullable().optional(),
  embeddingModel: text.nullable(),
  embedding: z
    .object({
      model: text,
      dtype: z.enum(MODEL_DTYPES).optional(),
      queryPrefix: text.optional(),
      passagePrefix: text.optional(),
      truncateDim: z.int().min(1).max(DIM_MAX).optional(),
      template: text.optional(),
    })
    .optional(),
  quota: z.object({ items: most, bytes: most }).optional(),
  state: z.enum(['creating', 'ready']),
});

/** What a later version added to a key may be a limit of it, and stays. */
const key = z.looseObject({
  id: z.int().min(1).max(KEY_ID_MAX),
  origin: z.int().min(1).max(KEY_ID_MAX).optional(),
  name: z.string().max(TEXT_LENGTH_MAX),
  // One that is not known here may do nothing.
  role: z.string().max(TEXT_LENGTH_MAX),
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  createdAt: time,
  isActive: z.boolean(),
  expiresAt: time.nullable(),
  previous: z.object({ digest: z.string().regex(/^[0-9a-f]{64}$/), expiresAt: time }).nullable(),
  collections: z
    .array(z.object({ name: text.optional(), prefix: text.optional(), role: text.optional() }))
    .max(ENTRIES_MAX)
    .nullable(),
  allowedNetworks: z.array(text).max(ENTRIES_MAX).nullable(),
  rateLimitPerMinute: z.int().min(0).nullable(),
  quota: z.object({ items: most, bytes: most, period: z.enum(QUOTA_PERIODS) }).nullable(),
});

/** A collection of a backup, without what was only of its way into being. Errors: storage_damaged, which names it. */
export function backedUpRecord({ name, record }: { name: string; record: string }): CollectionRecord {
  return fitting(
    collection,
    () => collectionFromEntry({ key: '', value: record }),
    `collection ${JSON.stringify(name)}`,
  ) as CollectionRecord;
}

/** A key of a backup. Errors: storage_damaged. */
export function backedUpKey(value: string): KeyRecord {
  return fitting(key, () => keyFromEntry({ key: '', value }), 'a key') as KeyRecord;
}

/** Also beyond what the API takes it would be held by every process, and looked at by every search. */
function boundedBy<Value>(faultOf: (value: Value) => string | null): (value: Value, context: z.RefinementCtx) => void {
  return (value, context) => {
    const fault = faultOf(value);
    if (fault !== null) context.addIssue({ code: 'custom', message: fault });
  };
}

function fitting<Content>(schema: z.ZodType<Content>, read: () => unknown, what: string): Content {
  let record: unknown;
  try {
    record = read();
  } catch (error) {
    if (!isQuiverError(error)) throw error;
    throw new QuiverError('storage_damaged', `the backup is damaged: ${what} in it has a record that is unreadable`, {
      cause: error,
    });
  }
  const found = schema.safeParse(record);
  if (found.success) return found.data;
  const [{ path, message }] = found.error.issues;
  throw new QuiverError(
    'storage_damaged',
    `the backup is damaged: ${what} in it can not be restored: ${path.join('.')}: ${message}`,
  );
}
