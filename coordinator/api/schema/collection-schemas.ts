import { z } from 'zod';
import {
  ANALYSER_NAMES,
  type AnalyserName,
  isAnalyserName,
  isLanguage,
  type Language,
  LANGUAGES,
} from '../../../shared/base/text/language';
import { METRICS } from '../../../shared/contract/vector/metric';
import {
  KEYWORD_FIELDS_MAX,
  KEYWORD_WEIGHT_MAX,
  type KeywordField,
} from '../../../shared/contract/shard/keyword-fields';
import { DEFAULT_METADATA_STORAGE, METADATA_STORAGES } from '../../../shared/contract/shard/metadata-storage';
import { DEFAULT_QUANTIZATION, QUANTIZATIONS } from '../../../shared/contract/vector/quantization';
import { DEFAULT_VECTOR_STORAGE, VECTOR_STORAGES } from '../../../shared/contract/vector/vector-storage';
import { MODEL_DTYPES, modelParts } from '../../models/collection-embedding';
import { excessOfStopWords } from '../../service/synonyms/own-stop-words';
import { faultOfRules, SYNONYM_BOUNDS, type SynonymRule } from '../../service/synonyms/synonym-rules';
import { type HttpLimits, REQUEST_BOUNDS } from '../requests/http-limits';
import { itemExpiry, itemVersion, vectorValues } from '../fields/answer-fields';
import { TTL_SECONDS_MAX } from '../fields/expiry';
import { valueHint } from '../fields/field-hints';
import {
  boundedArray,
  collectionName,
  flagText,
  integer,
  integerTextWithDefault,
  optional,
  vectorFormat,
  withDefault,
} from '../fields/fields';
import { report } from '../fields/issue';

const { descriptionCharactersMax, nameCharactersMax, exportDefault, exportMax, replicasMax, shardsMax } =
  REQUEST_BOUNDS;
/** As much as a number can say exactly. */
const QUOTA_MAX = Number.MAX_SAFE_INTEGER;
const description = z.string().max(descriptionCharactersMax);
/** An instruction, not a text. */
const PREFIX_CHARACTERS_MAX = 1000;
const TTL_LATER = 'It holds for the writes that come: an item keeps what its last write gave it.';

/** One that is not known is a bad parameter (400), as a language. */
const fieldAnalyser = z
  .string()
  .meta({
    enum: [...ANALYSER_NAMES],
    description:
      'What cuts its words: a language, or unicode, which knows none. Each query is cut by all of them, and finds what each makes of a word in its own fields. Default: the language of the collection.',
  })
  .transform((name, context): AnalyserName => {
    if (isAnalyserName(name)) return name;
    report(context, name, `must be one of ${ANALYSER_NAMES.join(', ')}${valueHint(name, ANALYSER_NAMES)}`, {
      kind: 'invalid_parameter',
    });
    return z.NEVER;
  });

/** A language that is not known is a bad parameter (400); a value that is not a string violates the schema (422). */
const language = z
  .string()
  .meta({
    enum: [...LANGUAGES],
    description:
      'Language of the keyword text, for good: words are found in all their forms, and its function words are ' +
      'left out of queries that hold others. zh, ja, ko, auto: queries have words by a dictionary. Default: none.',
  })
  .transform((code, context): Language => {
    if (isLanguage(code)) return code;
    report(context, code, `must be one of ${LANGUAGES.join(', ')}${valueHint(code, LANGUAGES)}`, {
      kind: 'invalid_parameter',
    });
    return z.NEVER;
  });

const keywordField = z.object({
  path: z.string().min(1).max(nameCharactersMax).meta({
    description: 'A path of the metadata with all strings under it; "text" is the item’s text.',
  }),
  weight: withDefault(integer(1, KEYWORD_WEIGHT_MAX), 1).meta({
    description: 'Each of its words counts as if it stood there so often (BM25F).',
  }),
  analyser: optional(fieldAnalyser),
});
const keywordFields = boundedArray(keywordField, KEYWORD_FIELDS_MAX)
  .meta({
    description:
      'What keyword search looks in: its words, and those of $text without fields, are of these alone; title:word of another path is a condition, and ranks nothing. Default: the text and all strings of the metadata, alike. PATCH changes it.',
  })
  .superRefine((fields: readonly KeywordField[], context) => {
    const twice = fields.findIndex(({ path }, i) => fields.findIndex((other) => other.path === path) < i);
    if (fields.length === 0) report(context, fields, 'must not be empty', { kind: 'invalid_parameter' });
    if (twice >= 0)
      report(context, fields, `has ${JSON.stringify(fields[twice].path)} twice`, { kind: 'invalid_parameter' });
  });

const synonymWords = z.array(z.string());
const synonymRule = z
  .union([synonymWords, z.object({ from: z.union([z.string(), synonymWords]), to: synonymWords })], {
    error: 'must be a list of words that mean the same, or {"from": words, "to": words}',
  })
  .transform((rule): SynonymRule => {
    if (!('to' in rule)) return rule;
    return { from: typeof rule.from === 'string' ? [rule.from] : rule.from, to: rule.to };
  });
const synonyms = z
  .array(synonymRule)
  .meta({
    maxItems: SYNONYM_BOUNDS.rules,
    description:
      'What words of queries mean besides: words of a list ["car", "automobile", "motor car"] mean each other; of an object, those of `from` mean those of `to`, too. They hold at once, also for filters by words, and change nothing that is stored.',
  })
  .superRefine((rules, context) => {
    const fault = faultOfRules(rules);
    if (fault !== null) report(context, rules, fault);
  });
const ownWords = withDefault(z.array(z.string()), []);
const stopWords = z
  .object({
    add: ownWords.meta({ description: 'Words that queries leave out if they have others.' }),
    remove: ownWords.meta({ description: 'Stop words of the language that count.' }),
  })
  .meta({
    description:
      'Stop words of the collection besides those of its language. They hold at once, for queries and filters by ' +
      'words, and change nothing that is stored.',
  })
  .superRefine((given, context) => {
    const fault = excessOfStopWords(given);
    if (fault !== null) report(context, given, fault);
  });
const stopWordsAnswer = z
  .object({ add: z.array(z.string()), remove: z.array(z.string()) })
  .nullable()
  .meta({ description: 'Its stop words besides those of the language; null: none.' });
const synonymsAnswer = z
  .array(z.union([z.array(z.string()), z.record(z.string(), z.array(z.string()))]))
  .nullable()
  .meta({ description: 'What words of its queries mean besides; null: nothing.' });

const prefix = z.string().max(PREFIX_CHARACTERS_MAX);
/** How texts become vectors. */
export function embeddingFields(limits: HttpLimits) {
  return {
    model: z
      .string()
      .max(nameCharactersMax)
      .meta({
        description:
          '"local:" and EMBEDDING_MODEL, one of EMBEDDING_MODELS or builtin; or a provider of ' +
          'EMBEDDING_PROVIDERS and a model of its, as "openai:text-embedding-3-small".',
      })
      .refine((model) => modelParts(model) !== null, {
        error: 'must be "local:" or a provider and a colon, and the name of a model',
      }),
    dtype: optional(z.enum(MODEL_DTYPES)).meta({
      description: 'Number format of a local model. Default: EMBEDDING_DTYPE.',
    }),
    query_prefix: optional(prefix).meta({
      description: 'Put before texts that are looked for. Default: what the model itself asks for.',
    }),
    passage_prefix: optional(prefix).meta({ description: 'The same before texts that are stored.' }),
    truncate_dim: optional(integer(1, limits.vectorDimMax)).meta({
      description:
        'Vectors are cut to so many numbers and brought to unit length again: for models that are made for it.',
    }),
  };
}
function embedding(limits: HttpLimits) {
  return z.object(embeddingFields(limits)).meta({
    description:
      'How its texts become vectors, until a reembed. Its dim is then that of the model. ' +
      'Default: by EMBEDDING_MODEL, when its first text comes.',
  });
}

/** Path parameters of all endpoints for one collection. */
export const collectionParameters = z.object({ name: collectionName });
/** The same, with the name that the contract uses for PATCH and export. */
export const collectionNamePath = z.object({ collection_name: collectionName });

export const collectionDeletion = z.object({
  force: flagText.meta({ description: 'Its aliases go with it, if it has any.' }),
});

const quotaItems = optional(integer(1, QUOTA_MAX)).meta({
  description: 'Items that it may hold; left out: any number.',
});
const quotaBytes = optional(integer(1, QUOTA_MAX)).meta({
  description:
    'Bytes that it may take on the disk, of one replica: what the stats show as disk_bytes; left out: any number.',
});
const quotaFields = { items: quotaItems, bytes: quotaBytes };
const quotaAnswer = z
  .object({
    items: z.int().nullable().meta({ description: 'null: any number.' }),
    bytes: z.int().nullable().meta({ description: 'On the disk, of one replica; null: any number.' }),
  })
  .nullable()
  .meta({ description: 'The most that it may hold; null: as much as there is room for.' });

/** What is left out is not bounded: an empty body takes the quota away. */
export const quotaBody = z.object(quotaFields);

export function newCollection(limits: HttpLimits) {
  const fields = z.object({
    name: collectionName,
    dim: optional(integer(1, limits.vectorDimMax)).meta({
      description: 'Numbers of its vectors. Needed unless embedding says by which model they are made.',
    }),
    distance_metric: withDefault(z.enum(METRICS), 'cosine'),
    description: optional(description),
    language: optional(language),
    keyword_fields: optional(keywordFields),
    synonyms: optional(synonyms),
    stop_words: optional(stopWords),
    keyword_positions: withDefault(z.boolean(), true).meta({
      description:
        'Whether positions of words are kept on the disk, for good, once they are worth it: phrases read them ' +
        'instead of texts.',
    }),
    quantization: withDefault(z.enum(QUANTIZATIONS), DEFAULT_QUANTIZATION).meta({
      description:
        'How vectors are held in memory, for good: a byte per dimension (int8), half a byte (int4) or one bit (binary). Fewer bits take less memory and make searches slower; the promised recall is the same, because the best are scored again with the original vectors on the disk.',
    }),
    metadata: withDefault(z.enum(METADATA_STORAGES), DEFAULT_METADATA_STORAGE).meta({
      description:
        'Where ids and metadata are, which answers carry, for good: in memory, or in files that are read through ' +
        'a bounded cache (disk). On the disk they take no memory but for some 50 bytes of each item and what ' +
        'filters look up; answers are the same, and wait for the disk where the cache does not have them.',
    }),
    vectors: withDefault(z.enum(VECTOR_STORAGES), DEFAULT_VECTOR_STORAGE).meta({
      description:
        'Where the index of the vectors is, for good: in memory, or in files of which the system keeps what it ' +
        'has room for (disk). On the disk a vector takes some 10 bytes of memory; searches read files and take ' +
        'longer, and the promised recall is the same. The original vectors are on the disk either way.',
    }),
    ttl_seconds: optional(integer(1, TTL_SECONDS_MAX)).meta({
      description: `Items without an expires_at of their own expire so long after their last write. Default: never. ${TTL_LATER}`,
    }),
    shards: optional(integer(1, shardsMax)),
    replicas: optional(integer(1, replicasMax)),
    min_in_sync: optional(integer(1, replicasMax)).meta({
      description:
        'Replicas that must have a write before it is acknowledged: 1 by default for up to two replicas, 2 for ' +
        'more; at most `replicas`.',
    }),
    quota: optional(z.object(quotaFields)).meta({
      description:
        'The most that it may hold; needs the role admin. Default: COLLECTION_QUOTA_ITEMS and COLLECTION_QUOTA_BYTES.',
    }),
    embedding: optional(embedding(limits)),
  });
  return fields.superRefine((body, context) => {
    if (body.dim === undefined && body.embedding === undefined)
      report(context, undefined, 'is required', { path: ['dim'], wanted: ['dim'] });
  });
}

export const reshardBody = z.object({ shards: integer(1, shardsMax) });

/** Here null is a value: it clears the description, and the time to live. */
export const collectionChange = z
  .object({
    description: description.nullable().optional(),
    ttl_seconds: integer(1, TTL_SECONDS_MAX)
      .nullable()
      .optional()
      .meta({ description: `null: items are kept. ${TTL_LATER}` }),
    keyword_fields: keywordFields
      .nullable()
      .optional()
      .meta({
        description:
          'null: the text and all strings of the metadata. A job (kind reindex, its id is job_id) makes the new ' +
          'index beside the present one, which is searched until the new one is whole.',
      }),
    synonyms: synonyms.nullable().optional(),
    stop_words: stopWords.nullable().optional(),
  })
  .superRefine((body, context) => {
    if (Object.values(body).every((value) => value === undefined))
      report(context, body, 'must have description, ttl_seconds, keyword_fields, synonyms or stop_words');
  });

export const exportQuery = z.object({
  limit: integerTextWithDefault(1, exportMax, exportDefault),
  vector_format: vectorFormat,
});

/** As `total_count` has it where it can't be counted. */
export const vectorCount = z
  .int()
  .meta({ description: '-1 while a shard does not answer, so that nobody can count them.' });

export const collectionAnswer = z
  .object({
    name: z.string(),
    dim: z.int(),
    distance_metric: z.enum(METRICS),
    description: z.string().nullable(),
    language: z.enum(LANGUAGES).nullable().meta({ description: 'The language of its keyword text; null: none.' }),
    keyword_fields: z
      .array(z.object({ path: z.string(), weight: z.int(), analyser: z.enum(ANALYSER_NAMES).optional() }))
      .nullable()
      .meta({
        description:
          'What its keyword search looks in, with the analysers that are not its language; null: the text and all strings of the metadata.',
      }),
    synonyms: synonymsAnswer,
    stop_words: stopWordsAnswer,
    keyword_positions: z.boolean().meta({ description: 'Whether positions of words are kept for phrases.' }),
    quantization: z.enum(QUANTIZATIONS).meta({ description: 'How its vectors are held in memory.' }),
    metadata: z.enum(METADATA_STORAGES).meta({ description: 'Where its ids and metadata are.' }),
    vectors: z.enum(VECTOR_STORAGES).meta({ description: 'Where the index of its vectors is.' }),
    vector_count: vectorCount,
    unavailable_shards: z.array(z.object({ shard: z.int(), reason: z.string() })).meta({
      description: 'Shards that did not answer within some seconds, and why, for people; nearly always none.',
    }),
    created_at: z.iso.datetime(),
    shards: z.int(),
    replicas: z.int(),
    min_in_sync: z.int(),
    ttl_seconds: z.int().nullable().meta({
      description: 'How long after their last write items without an expires_at of their own expire; null: never.',
    }),
    embedding_model: z
      .string()
      .nullable()
      .meta({ description: 'The model of its embedding, or of its first text; null before.' }),
    embedding: z
      .object({
        model: z.string(),
        dtype: z.enum(MODEL_DTYPES).nullable(),
        query_prefix: z.string().nullable(),
        passage_prefix: z.string().nullable(),
        truncate_dim: z.int().nullable(),
        template: z.string().nullable().meta({ description: 'Of a reembed; null: the text of an item.' }),
      })
      .nullable()
      .meta({ description: 'How its texts become vectors, as it was made; null: by embedding_model.' }),
    quota: quotaAnswer,
    job_id: z.string().optional().meta({
      description:
        'Of a PATCH that changes keyword_fields: the job that brings them. They are the present ones until then.',
    }),
  })
  .meta({ id: 'Collection' });

export const collectionsAnswer = z.object({ collections: z.array(collectionAnswer) });

export const collectionStats = z
  .object({
    name: z.string(),
    quantization: z.enum(QUANTIZATIONS),
    vector_count: z.int(),
    disk_bytes: z.int(),
    memory_bytes: z.int(),
    quota: quotaAnswer,
    index: z.object({
      state: z.enum(['indexing', 'compacting', 'refining', 'measuring', 'ready']).meta({
        description:
          'What is done in the background. indexing: rows are added to the graph, and scanned until then; compacting: dead rows are removed; refining: the links of rows that were added quickly are chosen anew, after which searches are quicker; measuring: the effort of searches is calibrated. Searches keep their recall in all states.',
      }),
      rows: z.int().meta({
        description: 'Rows of all shards, including those of deleted and replaced vectors that were not removed yet.',
      }),
      rows_indexed: z
        .int()
        .meta({ description: 'Rows in the graph. The others are scanned; a shard with few rows needs no graph.' }),
      rows_refined: z.int(),
      fraction: z
        .number()
        .min(0)
        .max(1)
        .meta({ description: 'Share of the work that is done, by rows indexed and refined.' }),
      seconds_left: z
        .number()
        .nullable()
        .meta({ description: 'Until the state is ready, by the pace so far; null when it is not known yet.' }),
      optimizing: z.boolean().meta({ description: 'Whether an optimize is under way.' }),
    }),
  })
  .meta({ id: 'CollectionStats' });

const replicaPurge = z.object({
  node: z.string().meta({ description: 'The node that holds the replica; empty where there is only one.' }),
  state: z
    .enum(['none', 'running', 'done', 'failed', 'unknown'])
    .meta({ description: 'none: none was begun since the replica was opened; unknown: its node did not answer.' }),
  step: z.string().meta({
    description:
      'expired: expired items are removed; log: the replicated log is trimmed; vectors, directory, checkpoint: ' +
      'the indexes are rewritten; records: the store is rewritten; backups: the next backup will name nothing of ' +
      'earlier ones. Of a purge that failed, where it did.',
  }),
  bytes_before: z.int().meta({ description: 'What all files of the replica took when it began.' }),
  bytes_after: z.int(),
  unshipped_writes: z.int().meta({
    description:
      'Where logs are shipped (`BACKUP_LOG`): writes, with their contents, that the purge waits for in the step ' +
      'log, because they are kept until they are in the backup target. Of a purge that failed there, those that ' +
      'are still kept.',
  }),
  error: z.string(),
});

export const purgeAnswer = z
  .object({
    collection: z.string(),
    state: z.enum(['none', 'running', 'done', 'failed']).meta({
      description:
        'done: every replica is; failed: one failed or did not answer, and none is running. Purge again then.',
    }),
    bytes_reclaimed: z
      .int()
      .meta({ description: 'Of the replicas that are done; what was written meanwhile counts against it.' }),
    shards: z.array(z.object({ shard: z.int(), replicas: z.array(replicaPurge) })),
  })
  .meta({ id: 'Purge' });

export const reshardAnswer = z
  .object({
    collection: z.string(),
    from: z.int().meta({ description: 'Shards that the collection had.' }),
    to: z.int().meta({ description: 'Shards that it gets.' }),
    state: z.enum(['filling', 'sealing', 'opening', 'retiring', 'cancelling', 'failed', 'stuck']).meta({
      description:
        'filling: the new shards are filled, and the old ones used; sealing, opening: the new ones take over, and calls wait for that; retiring: they have taken over, and the old ones go in a moment; cancelling: it is being undone; failed: it was undone, because of the error; stuck: the cluster store was put back from a backup, and it is not clear which shards count.',
    }),
    fraction: z.number().min(0).max(1).meta({ description: 'Share of the vectors that are copied.' }),
    copied: z.int(),
    total: z.int().meta({ description: 'Vectors when it began.' }),
    behind: z.int().meta({ description: 'Changes that the new shards do not have yet.' }),
    started_at: z.iso.datetime(),
    error: z.string().nullable(),
    waits_for: z.string().nullable().meta({
      description: 'What keeps it from getting on, for people; it goes on by itself when that is over. null: nothing.',
    }),
  })
  .meta({ id: 'Reshard' });

export const collectionDeletedAnswer = z.object({
  deleted: z.string(),
  name: z.string(),
  status: z.literal('deleted'),
});

export const exportAnswer = z.object({
  collection: z.string(),
  dim: z.int(),
  distance_metric: z.enum(METRICS),
  vectors: z.array(
    z.object({
      external_id: z.string(),
      vector: vectorValues,
      metadata: z.record(z.string(), z.unknown()),
      expires_at: itemExpiry.optional(),
      version: itemVersion.optional(),
    }),
  ),
  count: z.int(),
});
