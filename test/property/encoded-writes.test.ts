import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { loadBodyScanner } from '../../coordinator/api/native/body-scanner';
import type { KeyWriter } from '../../coordinator/service/keys/quota/key-quota';
import type { EncodedWrite, WritesEncoded } from '../../coordinator/service/routing/encoded-writes';
import type { UpsertResult, VectorInput } from '../../coordinator/service/service';
import { EncodedUpserts } from '../../coordinator/service/vectors/encoded-upserts';
import { isQuiverError, QuiverError } from '../../shared/base/errors/quiver-error';
import { operationsFromBytes, operationsToBytes } from '../../shared/contract/writes/operation-codec';
import type {
  CallOptions,
  ShardClient,
  ShardId,
  WriteOperation,
  WriteResult,
} from '../../shared/contract/shard/shard-client';
import { systemClock } from '../../shared/base/time/clock';
import { LocalNodeShards } from '../support/cluster/local-node-shards';
import { newCollection, plainService, type PlainService } from '../support/shards/plain-service';
import { PlainShardClient } from '../support/shards/plain-shard-client';
import { runSeed } from '../support/values/random';
import { clientTo, RpcNode } from '../support/cluster/rpc-node';
import { openMemoryStore, plainFactories, ShardNode } from '../support/shards/shard-node';

/**
 * Items that were encoded are written as the same items are that were not: over several shards, within quotas, with a
 * time to live, done once, and where shards fail. With shards of this process and of a node.
 */

const DIM = 2;
const START_MS = 1_800_000_000_000;
const addon = loadBodyScanner();

const FAULTS = ['unavailable', 'commit_unknown', 'overloaded', 'storage_failed', 'not_found', 'refused'] as const;
const IDS = ['a', 'b', 'c', 'é', '日本', '😀', ...Array.from({ length: 30 }, (_, i) => `id-${i}`)];

/** What both ways are asked to do. */
interface Write {
  ids: string[];
  dim: number;
  isZero: boolean;
  hasMetadata: boolean;
  token: number | null;
  hasWriter: boolean;
  skips: boolean;
  fault: { shard: number; kind: (typeof FAULTS)[number] } | null;
}

interface Story {
  shards: number;
  ttlSeconds: number | null;
  quota: number | null;
  metric: 'cosine' | 'l2';
  writes: Write[];
}

const anyWrite: fc.Arbitrary<Write> = fc.record({
  ids: fc.array(fc.constantFrom(...IDS), { minLength: 1, maxLength: 12 }),
  dim: fc.oneof({ weight: 12, arbitrary: fc.constant(DIM) }, fc.constant(3)),
  isZero: fc.boolean(),
  hasMetadata: fc.boolean(),
  token: fc.option(fc.nat({ max: 2 }), { freq: 2 }),
  hasWriter: fc.boolean(),
  skips: fc.boolean(),
  fault: fc.option(fc.record({ shard: fc.nat({ max: 4 }), kind: fc.constantFrom(...FAULTS) }), { freq: 2 }),
});
const anyStory: fc.Arbitrary<Story> = fc.record({
  shards: fc.constantFrom(1, 2, 5),
  ttlSeconds: fc.option(fc.constant(3_600)),
  quota: fc.option(fc.constant(9), { freq: 2 }),
  metric: fc.constantFrom('cosine', 'l2'),
  writes: fc.array(anyWrite, { minLength: 1, maxLength: 6 }),
});

/** A service over shards that fail when they are told to. */
class Side {
  fault: Write['fault'] = null;
  /** Where wall time stands still, stamps and versions count up, so that they are the same on both sides. */
  readonly clock = { monotonicMs: systemClock.monotonicMs, wallMs: () => START_MS };
  encodedWrites = 0;
  plain!: PlainService;

  /** `encodes`: whether its shards take bytes. */
  async open(shards: ShardClient & WritesEncoded, encodes: boolean): Promise<this> {
    const around = async <Result>(
      { shard }: ShardId,
      count: () => number,
      refused: (result: WriteResult) => Result,
      write: () => Promise<Result>,
    ): Promise<Result> => {
      if (this.fault === null || this.fault.shard !== shard) return write();
      const { kind } = this.fault;
      // A refusal is over once it was told.
      this.fault = null;
      if (kind === 'refused')
        return refused({ outcomes: new Array(count()).fill('refused'), firstVersion: 0, present: [] });
      throw new QuiverError(kind, `shard ${shard}: ${kind}`);
    };
    const faulty: ShardClient & WritesEncoded = {
      make: (spec) => shards.make(spec),
      open: (spec) => shards.open(spec),
      drop: (id) => shards.drop(id),
      read: (id, kind, request, call) => shards.read(id, kind, request, call),
      write: (id: ShardId, operations: WriteOperation[], call: CallOptions) =>
        around(
          id,
          () => operations.length,
          (result) => result,
          () => shards.write(id, operations, call),
        ),
      ...(encodes && {
        writeEncoded: (id: ShardId, bytes: Buffer, call: CallOptions) => {
          this.encodedWrites += 1;
          return around<EncodedWrite>(
            id,
            () => bytes.readUInt32LE(4),
            (result) => ({ result, bytes, isShared: false }),
            () => shards.writeEncoded!(id, bytes, call),
          );
        },
      }),
    };
    this.plain = await plainService({ shardClient: faulty, clock: this.clock });
    return this;
  }

  /** What became of it: an error by its words, or the result without what takes time. */
  async write(name: string, write: Write, isEncoded: boolean): Promise<unknown> {
    const { vectors } = this.plain.service;
    this.fault = write.fault;
    const repeated: true[] = [];
    const token = `${write.token}`.padEnd(32, '0');
    const digest = createHash('md5')
      .update(JSON.stringify(operationsOf(write)))
      .digest('hex');
    const named = { token, digest, sealingKey: 'e'.repeat(64), repeated: () => void repeated.push(true) };
    const once = write.token === null ? undefined : named;
    const mode = { once, skips: write.skips, writer: write.hasWriter ? WRITER : undefined };
    try {
      const result: UpsertResult & { ids?: string[] } = isEncoded
        ? await vectors.upsertEncoded(name, encodedOf(write), mode).then(({ ids, result: rest }) => ({ ids, ...rest }))
        : { ids: write.ids, ...(await vectors.upsert(name, itemsOf(write), mode)) };
      return {
        ...result,
        errors: [...result.errors].map(([i, error]) => [i, error.kind, error.message]),
        timing: null,
        repeated,
      };
    } catch (error) {
      if (!isQuiverError(error)) throw error;
      return { kind: error.kind, message: error.message, shown: error.shown, repeated };
    } finally {
      this.fault = null;
    }
  }

  async stored(name: string): Promise<unknown[]> {
    const { vectors, keyQuotas } = this.plain.service;
    const { pages } = await vectors.scroll(name, { cursor: null, limit: 1_000, filter: null, vectors: true });
    const items: unknown[] = [];
    for await (const page of pages) items.push(...page.map((item) => ({ ...item, vector: [...item.vector!] })));
    return [...items, await keyQuotas.usedOf(WRITER)];
  }

  async create(name: string, { shards, ttlSeconds, quota, metric }: Story): Promise<void> {
    const bounds = quota === null ? null : { items: quota, bytes: null };
    const made = newCollection(name, { shards, metric, dim: DIM });
    await this.plain.service.collections.create({ ...made, ttlSeconds, quota: bounds });
  }

  async close(): Promise<void> {
    await this.plain.service.keyQuotas.close();
    this.plain.service.close();
  }
}

const WRITER: KeyWriter = { identity: 'key:7', quota: { items: 1_000_000, bytes: null, period: 'total' } };

function operationsOf({ ids, dim, isZero, hasMetadata }: Write): WriteOperation[] {
  return ids.map((externalId, i) => ({
    type: 'upsert',
    externalId,
    vector: Float32Array.from({ length: dim }, (_, d) => (isZero && i === 0 ? 0 : i + d + 1)),
    stamp: 0,
    metadata: hasMetadata && i % 2 === 0 ? `{"n":${i}}` : undefined,
    text: undefined,
  }));
}

function itemsOf(write: Write): VectorInput[] {
  return encodedOf(write).items();
}

/** Its memory is overwritten as soon as nobody is to read it any more. */
function encodedOf(write: Write): EncodedUpserts {
  const bytes = operationsToBytes(operationsOf(write));
  const wipe = (memory: ArrayBuffer): void => void new Uint8Array(memory).fill(0xff);
  const memory = { divide: addon.divideWrite, release: wipe, discard: (part: Buffer) => void part.fill(0xff) };
  return new EncodedUpserts({ count: write.ids.length, dim: write.dim, bytes, memory });
}

/** Shards of this process that take bytes as those of an HTTP thread do: they are lent, and come back elsewhere. */
function lending(shards: PlainShardClient): ShardClient & WritesEncoded {
  return {
    make: (spec) => shards.make(spec),
    open: (spec) => shards.open(spec),
    drop: (id) => shards.drop(id),
    read: (id, kind, request, call) => shards.read(id, kind, request, call),
    write: (id, operations, call) => shards.write(id, operations, call),
    writeEncoded: async (id, bytes, call) => {
      const buffer = bytes.buffer as ArrayBuffer;
      const lent = Buffer.from(structuredClone(buffer, { transfer: [buffer] }));
      const back = Buffer.from(lent);
      return { result: await shards.write(id, operationsFromBytes(lent), call), bytes: back, isShared: false };
    },
  };
}

async function compare(sides: [Side, Side], numRuns: number, title: string): Promise<{ encoded: number }> {
  let stories = 0;
  await fc.assert(
    fc.asyncProperty(anyStory, async (story) => {
      const name = `c${(stories += 1)}`;
      for (const side of sides) await side.create(name, story);
      // The last one says what the first has said, if it was to be done once.
      for (const write of [...story.writes, story.writes[0]]) {
        const [encoded, plain] = [await sides[0].write(name, write, true), await sides[1].write(name, write, false)];
        expect(encoded).toEqual(plain);
      }
      expect(await sides[0].stored(name)).toEqual(await sides[1].stored(name));
    }),
    { seed: runSeed(title), numRuns, endOnFailure: true },
  );
  return { encoded: sides[0].encodedWrites };
}

test('shards of this process', async () => {
  const sides: [Side, Side] = [new Side(), new Side()];
  for (const [i, side] of sides.entries()) {
    await side.open(lending(new PlainShardClient({ clock: side.clock })), i === 0);
  }
  const { encoded } = await compare(sides, 250, 'encoded-writes');
  expect(encoded).toBeGreaterThan(300);
  expect(sides[1].encodedWrites).toBe(0);
  for (const side of sides) await side.close();
});

test('shards of a node', async () => {
  const closing: (() => Promise<void>)[] = [];
  const open = async (isEncoding: boolean): Promise<Side> => {
    const side = new Side();
    const { clock } = side;
    const node = await new ShardNode({ factories: plainFactories, openStore: openMemoryStore, clock }).start();
    const server = await RpcNode.start(new LocalNodeShards(node.client));
    const { client } = clientTo(server.address);
    const shards: ShardClient & WritesEncoded = {
      make: (spec) => node.client.make(spec),
      open: (spec) => node.client.open(spec),
      drop: (id) => node.client.drop(id),
      read: (id, kind, request, call) => client.read(id, kind, request, call),
      write: (id, operations, call) => client.write(id, operations, call),
      writeEncoded: (id, bytes, call) => client.writeEncoded(id, bytes, call),
    };
    await side.open(shards, isEncoding);
    closing.push(async () => {
      await side.close();
      client.close();
      await server.close(1_000);
      await node.destroy();
    });
    return side;
  };
  const sides: [Side, Side] = [await open(true), await open(false)];
  const { encoded } = await compare(sides, 25, 'encoded-writes-of-a-node');
  expect(encoded).toBeGreaterThan(25);
  for (const close of closing) await close();
});
