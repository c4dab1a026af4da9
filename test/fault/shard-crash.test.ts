import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseFilter } from '../../shared/contract/filter/parse-filter';
import type { StoredItem } from '../../shared/contract/shard/shard-read';
import { SHARD, WORKLOAD, batchOf } from '../support/processes/crash-workload';
import { PlainShardClient } from '../support/shards/plain-shard-client';
import { runSeed, seededRandom } from '../support/values/random';
import { NO_HURRY, ShardNode, nativeFactories, openRocksStore } from '../support/shards/shard-node';

const CYCLES = Number(process.env.CYCLES ?? 15);
const IDS = Array.from({ length: WORKLOAD.writers }, (_, writer) =>
  Array.from({ length: WORKLOAD.idsPerWriter }, (_, i) => `w${writer}-${i}`),
);

/** Runs a writer on the folder and kills it; answers the last batch that each writer saw acknowledged. */
async function writeUntilKilled(
  folder: string,
  seed: number,
  starts: number[],
  random: () => number,
): Promise<number[]> {
  const acknowledged = [...starts];
  const killWhileOpening = random() < 0.2;
  const enough = 1 + Math.floor(random() * 150);
  let count = 0;
  let output = '';
  let errors = '';
  const child = spawn(process.execPath, [
    '-r',
    resolve(__dirname, '../support/swc-register.js'),
    resolve(__dirname, '../support/processes/crash-writer.ts'),
    folder,
    String(seed),
    JSON.stringify(starts),
  ]);
  const killSoon = (): void => {
    setTimeout(() => child.kill('SIGKILL'), random() * 10);
  };
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (errors += chunk));
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
    const lines = output.split('\n');
    output = lines.pop() as string;
    for (const line of lines) {
      if (line === 'opening' && killWhileOpening) killSoon();
      if (line === 'opening' || line === 'open') continue;
      const [writer, number] = line.split(' ').map(Number);
      acknowledged[writer] = number;
      if (++count === enough && !killWhileOpening) killSoon();
    }
  });
  const signal = await new Promise((done) => child.once('close', (_code, endedBy) => done(endedBy)));
  if (signal !== 'SIGKILL') throw new Error(`the writer ended by itself: ${errors}`);
  return acknowledged;
}

/** What a writer's ids hold after its first `batches` batches. */
async function stateAfter(seed: number, writer: number, batches: number): Promise<(StoredItem | null)[]> {
  const plain = new PlainShardClient();
  await plain.make(SHARD);
  for (let number = 1; number <= batches; number++) await plain.write(SHARD, batchOf(seed, writer, number), NO_HURRY);
  return plain.read(SHARD, 'fetch', { externalIds: IDS[writer], vectors: true }, NO_HURRY);
}

/** Checks a stored shard against what was acknowledged; answers how many batches of each writer it holds. */
async function verify(folder: string, seed: number, acknowledged: number[]): Promise<number[]> {
  const node = await new ShardNode({ factories: nativeFactories, openStore: openRocksStore, folder }).start();
  const { client } = node;
  try {
    await client.make(SHARD);
    const held: number[] = [];
    const live: StoredItem[] = [];
    for (let writer = 0; writer < WORKLOAD.writers; writer++) {
      const found = await client.read(SHARD, 'fetch', { externalIds: IDS[writer], vectors: true }, NO_HURRY);
      const before = await stateAfter(seed, writer, acknowledged[writer]);
      const oneMore = await stateAfter(seed, writer, acknowledged[writer] + 1);
      const holdsOneMore = JSON.stringify(found) !== JSON.stringify(before);
      expect(found).toEqual(holdsOneMore ? oneMore : before);
      held.push(acknowledged[writer] + (holdsOneMore ? 1 : 0));
      live.push(...found.filter((item) => item !== null));
    }
    const ids = live.map((item) => item.externalId).sort();
    expect(await client.read(SHARD, 'count', null, NO_HURRY)).toBe(ids.length);
    const scanned = await client.read(
      SHARD,
      'scan',
      { after: null, limit: 10_000, filter: null, vectors: false },
      NO_HURRY,
    );
    expect(scanned.map((item) => item.externalId).sort()).toEqual(ids);
    const query = {
      vector: new Float32Array(WORKLOAD.dim).fill(1),
      k: 10_000,
      effort: { type: 'exact' },
      texts: false,
    } as const;
    const { hits } = await client.read(SHARD, 'search', { ...query, filter: null }, NO_HURRY);
    expect(hits.map((hit) => hit.externalId).sort()).toEqual(ids);
    const { hits: filtered } = await client.read(
      SHARD,
      'search',
      { ...query, filter: parseFilter({ writer: 1 }) },
      NO_HURRY,
    );
    const ofWriter1 = live.filter((item) => JSON.parse(item.metadata).writer === 1).map((item) => item.externalId);
    expect(filtered.map((hit) => hit.externalId).sort()).toEqual(ofWriter1.sort());
    const statistics = await client.read(SHARD, 'keywordStatistics', { terms: ['writer2'] }, NO_HURRY);
    const keyword = await client.read(
      SHARD,
      'keywordSearch',
      { terms: ['writer2'], statistics, k: 10_000, filter: null },
      NO_HURRY,
    );
    const ofWriter2 = live.filter((item) => item.text?.includes('writer2')).map((item) => item.externalId);
    expect(keyword.map((hit) => hit.externalId).sort()).toEqual(ofWriter2.sort());
    expect(node.log.messages('error')).toEqual([]);
    // A crash is no damage: what the checkpoints hold is always good.
    expect(node.log.messages('warn')).toEqual([]);
    return held;
  } finally {
    await node.stop();
  }
}

test(
  'kill -9 at any moment, also while checkpointing or recovering, keeps every acknowledged batch whole and resurrects nothing',
  async () => {
    const seed = runSeed('shard crash');
    const random = seededRandom(seed);
    const folder = mkdtempSync(join(tmpdir(), 'quiver-crash-'));
    const original = join(folder, 'original');
    let batches = new Array<number>(WORKLOAD.writers).fill(0);
    try {
      for (let cycle = 0; cycle < CYCLES; cycle++) {
        const acknowledged = await writeUntilKilled(original, seed, batches, random);
        // Looked at in a copy, for a look closes cleanly: the original goes from crash to crash.
        const copy = join(folder, `copy-${cycle}`);
        cpSync(original, copy, { recursive: true });
        batches = await verify(copy, seed, acknowledged);
        rmSync(copy, { recursive: true });
      }
      expect(Math.min(...batches)).toBeGreaterThan(CYCLES);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  900_000 + CYCLES * 10_000,
);
