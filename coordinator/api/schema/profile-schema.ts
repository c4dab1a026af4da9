import { z } from 'zod';

const ms = z.number();
const known = ms.nullable();
const count = z.int().nullable();

/** One call of a shard. */
const shardProfile = z
  .object({
    read: z.string().meta({ description: 'search, keywordStatistics, keywordSearch, score or fetch.' }),
    query: count.meta({ description: 'Of a bulk search: which query.' }),
    shard: z.int(),
    node: z.string().nullable().meta({
      description:
        'The node that was asked last, or its address; null: this process. Shown to admins alone; null to others.',
    }),
    role: z
      .enum(['primary', 'follower'])
      .nullable()
      .meta({ description: 'Of the replica that answered; shown to admins alone.' }),
    place: z.enum(['inline', 'shard', 'node']).meta({
      description:
        'inline: the thread that serves the request searched by itself; shard: that of the shard; node: another process.',
    }),
    attempts: z
      .int()
      .meta({ description: 'How often it was sent: again where a node was lost, or another one leads.' }),
    start_ms: ms.meta({ description: 'When it began, since the request came.' }),
    total_ms: ms,
    wait_ms: known.meta({ description: 'Until the shard began with it: for its thread, a lease, other work.' }),
    run_ms: known.meta({ description: 'From then on, where the shard is.' }),
    rpc_ms: known.meta({ description: 'The rest: on its way to the node and back.' }),
    results: count,
    plan: z.string().nullable().meta({
      description:
        'scan, walk, exact, walk_then_scan (the walk found too few), cells, cells_then_scan (the same of cells), or empty.',
    }),
    candidates: count.meta({ description: 'Items that may be answers: those that pass the filter, or all.' }),
    scored: count.meta({ description: 'Rows scored by their codes.' }),
    rescored: count.meta({ description: 'Rows scored by their original vectors.' }),
    expanded: count.meta({ description: 'Rows that a walk kept and expanded: the effort, as ef counts it.' }),
    filter_ms: known.meta({ description: 'To find the items that pass the filter.' }),
    queue_ms: known.meta({ description: 'For a thread that searches.' }),
    vectors_ms: known.meta({ description: 'To search the vectors.' }),
    hits_ms: known.meta({ description: 'To make hits of what was found.' }),
    texts_ms: known.meta({ description: 'To read texts.' }),
    error: z.string().nullable(),
  })
  .meta({
    id: 'ShardProfile',
    description: 'One call of a shard. Null: there is none, or a node of an earlier version does not say it.',
  });

/** Where the time of a search went. */
export const searchProfile = z
  .object({
    request_id: z.string(),
    trace_id: z.string().nullable().meta({ description: 'Of the trace that it belongs to, if there is one.' }),
    total_ms: ms.meta({
      description: 'Since the request came, without writing the answer: the sum of the nine below.',
    }),
    wait_ms: ms.meta({ description: 'For the key, the limits and the bytes of the body.' }),
    parse_ms: ms.meta({ description: 'To read and check the body.' }),
    route_ms: ms.meta({ description: 'To find the collection.' }),
    embed_ms: ms.meta({ description: 'To turn text into vectors.' }),
    queue_ms: ms.meta({ description: 'For a place among large reads.' }),
    shards_ms: ms.meta({
      description: 'While any shard was asked. Calls of shards overlap, and each moment counts once.',
    }),
    merge_ms: ms.meta({ description: 'To join their answers.' }),
    rerank_ms: ms.meta({ description: 'To have a model read hits.' }),
    other_ms: ms,
    shards: z.array(shardProfile),
  })
  .meta({ id: 'SearchProfile', description: 'Milliseconds; present when profile is true.' });
