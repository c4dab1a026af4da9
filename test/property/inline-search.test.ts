import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { MessageChannel, Worker } from 'node:worker_threads';
import { METADATA_STORAGES, type MetadataStorage } from '../../shared/contract/shard/metadata-storage';
import type { ShardSpec, WriteOperation } from '../../shared/contract/shard/shard-client';
import { eventually } from '../support/eventually';
import { DIM, type InlineStory, metadataOf, PHASES, STEPS, vectorOf } from '../support/stories/inline-story';
import { runSeed, seededRandom } from '../support/values/random';
import { nativeFactories, NO_HURRY, openMemoryStore, ShardNode } from '../support/shards/shard-node';

const ITEMS = 600;
const READERS = 2;
/** Answers that each reader has to find inline in each phase before the next one. */
const ANSWERS = 300;
/**
 * Enough replaced items that the vector index is compacted, see GRAPH_ROWS_MIN in node/engine/vector/maintenance.ts.
 */
const CHANGES = 14_000;
const DROPS = 12;

interface Reader {
  counts: Int32Array;
  report: Promise<{ failures: string[]; dropped: number }>;
}

/** A shard that is changed, and threads that search it inline meanwhile. */
class Story {
  private readonly spec: ShardSpec;
  private readonly answered = new Int32Array(new SharedArrayBuffer(4 * ITEMS));
  private readonly begun = new Int32Array(new SharedArrayBuffer(4 * ITEMS));
  private readonly phase = new Int32Array(new SharedArrayBuffer(4));
  readonly readers: Reader[] = [];
  private stamp = 0;

  constructor(
    private readonly node: ShardNode,
    private readonly random: () => number,
    metadata: MetadataStorage,
  ) {
    this.spec = { collectionUid: 'inline', shard: 0, dim: DIM, metric: 'l2', metadata };
  }

  startReader(seed: number): void {
    const counts = new Int32Array(new SharedArrayBuffer(8 * PHASES.length));
    const { port1, port2 } = new MessageChannel();
    const [answered, begun, phase] = [this.answered, this.begun, this.phase].map(
      (words) => words.buffer as SharedArrayBuffer,
    );
    const workerData: InlineStory = {
      spec: this.spec,
      seed,
      items: ITEMS,
      answered,
      begun,
      phase,
      counts: counts.buffer as SharedArrayBuffer,
      port: port2,
    };
    const worker = new Worker(join(__dirname, '../support/threads/inline-reader-worker.js'), {
      workerData,
      transferList: [port2],
    });
    const end = this.node.host.follow((message) => port1.postMessage(message));
    this.readers.push({ counts, report: reportOf(worker).finally(end) });
  }

  open(): Promise<void> {
    return this.node.client.make(this.spec);
  }

  begin(phase: (typeof PHASES)[number]): void {
    Atomics.store(this.phase, 0, PHASES.indexOf(phase));
  }

  end(): void {
    Atomics.store(this.phase, 0, -1);
  }

  /** Every reader has found that many answers inline in this phase. */
  async answersFound(phase: (typeof PHASES)[number]): Promise<void> {
    const at = PHASES.indexOf(phase);
    const found = eventually(`answers inline with ${phase}`, () =>
      this.readers.every(({ counts }) => Atomics.load(counts, at) >= ANSWERS),
    );
    // A reader that has found failures ends before it has its answers.
    await Promise.race([found, ...this.readers.map(({ report }) => report.then(() => undefined))]);
  }

  insert(from: number, to: number): Promise<void> {
    return this.write(
      Array.from({ length: to - from }, (_, i) => from + i),
      () => false,
    );
  }

  /** Changes items at random, each once, in two writes at the same time. */
  async change(count: number): Promise<void> {
    const chosen = new Set<number>();
    while (chosen.size < count) chosen.add(Math.floor(this.random() * ITEMS));
    const isDeleted = () => this.random() < 0.2;
    const halves = [[...chosen].slice(0, count / 2), [...chosen].slice(count / 2)];
    await Promise.all(halves.map((half) => this.write(half, isDeleted)));
  }

  async dropAll(): Promise<void> {
    this.answered.forEach((change, item) => Atomics.store(this.begun, item, change + (change % 2)));
    await this.node.client.drop(this.spec);
    this.begun.forEach((change, item) => Atomics.store(this.answered, item, change));
  }

  private async write(items: number[], isDeleted: () => boolean): Promise<void> {
    const operations = items.map((item): WriteOperation => {
      const now = this.answered[item];
      const deletes = now % 2 === 1 && isDeleted();
      const change = now + (deletes ? STEPS.deleted : now % 2 === 1 ? STEPS.replaced : STEPS.inserted);
      Atomics.store(this.begun, item, change);
      if (deletes) return { type: 'delete', externalId: String(item) };
      // Of many lengths, so that the directory's chunks come, are emptied and go.
      const metadata = JSON.stringify({
        ...metadataOf(item, change),
        note: 'x'.repeat(Math.floor(this.random() ** 4 * 3_000)),
      });
      return {
        type: 'upsert',
        externalId: String(item),
        vector: vectorOf(item, change),
        stamp: ++this.stamp,
        metadata,
        text: undefined,
      };
    });
    await this.node.client.write(this.spec, operations, NO_HURRY);
    for (const item of items) Atomics.store(this.answered, item, this.begun[item]);
  }
}

function reportOf(worker: Worker): Reader['report'] {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.once('exit', () => reject(new Error('a reader ended without a report')));
  });
}

test.each(METADATA_STORAGES)(
  'every answer that threads find inline while a shard changes, with metadata in %s, with and without a filter, is that of a moment of the search',
  async (metadata) => {
    const seed = runSeed('inline search');
    const node = await new ShardNode({ factories: nativeFactories, openStore: openMemoryStore }).start();
    const random = seededRandom(seed);
    const story = new Story(node, random, metadata);
    try {
      await story.open();
      story.begin('inserts');
      for (let i = 0; i < READERS; i++) story.startReader(seed + i);
      for (let from = 0; from < ITEMS; from += 20) {
        await story.insert(from, from + 20);
        if (from === 0) await story.answersFound('inserts');
      }
      await story.answersFound('inserts');

      story.begin('changes');
      for (let changed = 0; changed < CHANGES; changed += 40) await story.change(40);
      const vectors = join(node.folder, 'shards', 'inline', '0', 'vectors');
      const newestOriginals = (): number =>
        Math.max(...readdirSync(vectors).map((name) => Number(/^originals-(\d+)/.exec(name)?.[1] ?? 0)));
      await eventually('the vector index is compacted', async () => {
        await story.change(40);
        return newestOriginals() > 1;
      });
      await story.answersFound('changes');

      story.begin('quiet');
      await story.answersFound('quiet');

      story.begin('drops');
      for (let i = 0; i < DROPS; i++) {
        await story.dropAll();
        await story.open();
        for (let from = 0; from < 60; from += 20) await story.insert(from, from + 20);
        await story.change(20);
      }
      await story.answersFound('drops');
    } finally {
      story.end();
      const reports = await Promise.all(story.readers.map(({ report }) => report));
      await node.destroy();
      console.log(
        JSON.stringify({
          seed,
          phases: PHASES,
          inlineThenNot: story.readers.map(({ counts }) => [...counts]),
          chunksDropped: reports.map(({ dropped }) => dropped),
        }),
      );
      expect(reports.flatMap(({ failures }) => failures)).toEqual([]);
      for (const { dropped } of reports) expect(dropped).toBeGreaterThan(0);
    }
    for (const { counts } of story.readers)
      for (let phase = 0; phase < PHASES.length; phase++) expect(counts[phase]).toBeGreaterThanOrEqual(ANSWERS);
  },
);
