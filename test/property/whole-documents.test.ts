import { randomUUID } from 'node:crypto';
import { documentChunkId } from '../../shared/contract/shard/chunk-id';
import type { ShardSpec, WriteOperation } from '../../shared/contract/shard/shard-client';
import { parseFilter } from '../../shared/contract/filter/parse-filter';
import { runSeed, seededRandom } from '../support/values/random';
import { NO_HURRY, openRocksStore, nativeFactories, plainFactories, ShardNode } from '../support/shards/shard-node';

/** Readers beside a document that is replaced again and again: each read shows all of one generation, or nothing. */

const DIM = 4;
/** Applied in many slices. */
const CHUNKS_MAX = 300;
const ROUNDS = 25;

const seed = runSeed('whole documents');
const SPEC: ShardSpec = { collectionUid: 'c', shard: 0, dim: DIM, metric: 'l2' };

test.each([
  ['plain', plainFactories],
  ['native', nativeFactories],
])('every read is whole, by %s indexes', async (_name, factories) => {
  const random = seededRandom(seed);
  const node = await new ShardNode({ factories, openStore: openRocksStore }).start();
  try {
    const { client } = node;
    await client.make(SPEC);
    const document = randomUUID();
    const filter = parseFilter({ doc: 'd' })!;
    let stamp = 1;
    let counts: number[] = [0];
    let isOver = false;
    const write = async (generation: number, count: number, before: number): Promise<void> => {
      const operations: WriteOperation[] = [];
      for (let i = 0; i < count; i += 1)
        operations.push({
          type: 'upsert',
          externalId: documentChunkId(document, i),
          vector: Float32Array.of(generation, i, 0, 1),
          stamp: stamp++,
          metadata: JSON.stringify({ doc: 'd', generation, note: 'x'.repeat(300) }),
          text: `generation g${generation} chunk ${i}`,
        });
      for (let i = count; i < before; i += 1)
        operations.push({ type: 'delete', externalId: documentChunkId(document, i) });
      await client.write(SPEC, operations, NO_HURRY);
    };
    const mustBeWhole = (metadata: string[], what: string): void => {
      const generations = [...new Set(metadata.map((json) => (JSON.parse(json) as { generation: number }).generation))];
      expect([what, generations.length <= 1 ? 'one generation' : generations]).toEqual([what, 'one generation']);
      expect([what, metadata.length]).toEqual([what, generations.length === 0 ? 0 : counts[generations[0]]]);
    };
    const limit = CHUNKS_MAX + 10;
    const vector = Float32Array.of(1, 2, 3, 4);
    const reads: (() => Promise<void>)[] = [
      async () => {
        const scan = { after: null, limit, filter: null, vectors: true, texts: true };
        mustBeWhole(
          (await client.read(SPEC, 'scan', scan, NO_HURRY)).map(({ metadata }) => metadata),
          'scan',
        );
      },
      async () => {
        const scan = { after: null, limit, filter, vectors: false, texts: true };
        mustBeWhole(
          (await client.read(SPEC, 'scan', scan, NO_HURRY)).map(({ metadata }) => metadata),
          'filtered scan',
        );
      },
      async () => {
        const search = { vector, k: limit, filter: null, effort: { type: 'exact' as const }, texts: true };
        mustBeWhole(
          (await client.read(SPEC, 'search', search, NO_HURRY)).hits.map(({ metadata }) => metadata),
          'search',
        );
      },
      async () => {
        const count = await client.read(SPEC, 'matches', { filter }, NO_HURRY);
        expect(counts).toContain(count);
      },
      async () => expect(counts).toContain(await client.read(SPEC, 'count', null, NO_HURRY)),
    ];
    const readers = reads.map(async (read) => {
      while (!isOver) {
        await read();
        await new Promise((next) => setImmediate(next));
      }
    });
    const writer = async (): Promise<void> => {
      for (let generation = 1; generation <= ROUNDS; generation += 1) {
        const count = 2 + Math.floor(random() * (CHUNKS_MAX - 2));
        counts = [...counts, count];
        await write(generation, count, counts[generation - 1]);
      }
    };
    await Promise.all([writer().finally(() => (isOver = true)), ...readers]);
  } finally {
    await node.destroy();
  }
});
