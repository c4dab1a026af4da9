import { Client, type ClientDuplexStream, ChannelCredentials } from '@grpc/grpc-js';
import { AnswerBytes } from '../../node/hosting/services/answer-bytes';
import type { RemoteShardClient } from '../../coordinator/cluster/calls/remote-shard-client';
import type { AnswerFrame__Output, ReadFrame } from '../../shared/wire/generated/quiver/v1/reads';
import { readsDefinition } from '../../shared/wire/streams/protocol';
import type { Filter } from '../../shared/contract/filter/filter';
import type { WriteOperation } from '../../shared/contract/shard/shard-client';
import type { Hit } from '../../shared/contract/shard/shard-read';
import { eventually } from '../support/eventually';
import { RpcNode, SHARD, clientTo, inTime, provenMetadata, within } from '../support/cluster/rpc-node';
import { ScriptedNodeShards } from '../support/cluster/scripted-node-shards';

/** How much travels at once between coordinators and nodes, and in how many pieces. */

const MEGABYTE = 1024 * 1024;

let shards: ScriptedNodeShards;
let node: RpcNode;
let client: RemoteShardClient;

async function start(options: Parameters<typeof RpcNode.start>[1] = {}): Promise<void> {
  shards = new ScriptedNodeShards();
  node = await RpcNode.start(shards, options);
  client = clientTo(node.address).client;
}

afterEach(async () => {
  client.close();
  await node.close();
});

async function search(who = client, call = inTime()): Promise<Hit[]> {
  const { hits } = await who.read(
    SHARD,
    'search',
    { vector: Float32Array.of(1, 2), k: 3, filter: null, effort: { type: 'calibrated' }, texts: false },
    call,
  );
  return hits;
}

test('requests of one turn share a message, and so do their answers', async () => {
  await start();
  await search();
  const before = { ...node.frames };
  await Promise.all(Array.from({ length: 200 }, () => search()));
  expect(shards.reads).toBe(201);
  expect(node.frames.received - before.received).toBeLessThanOrEqual(2);
  // Signs of life are among them, on a machine that takes long.
  expect(node.frames.sent - before.sent).toBeLessThan(50);
});

test('a node shows that it lives while it works on a read', async () => {
  await start();
  await search();
  const before = node.frames.sent;
  let finish: () => void = () => undefined;
  shards.before = () => new Promise((done) => (finish = done));
  const searching = search();
  await eventually('some signs have come', async () => node.frames.sent >= before + 3);
  finish();
  expect(await searching).toEqual([]);
});

test('a short search does not wait behind long filters that were sent before it', async () => {
  await start();
  const kindsInOrder: string[] = [];
  shards.hits = ({ filter }) => {
    kindsInOrder.push(filter === null ? 'short' : 'long');
    return [];
  };
  await search();
  const filter: Filter = { type: 'in', path: 'words', values: Array.from({ length: 30_000 }, (_, i) => `word-${i}`) };
  const long = Array.from({ length: 60 }, () =>
    client.read(
      SHARD,
      'search',
      { vector: Float32Array.of(1, 2), k: 3, filter, effort: { type: 'calibrated' }, texts: false },
      inTime(),
    ),
  );
  await search(client);
  const before = kindsInOrder.length;
  await Promise.all(long);
  expect(kindsInOrder).toHaveLength(62);
  expect(before).toBeLessThan(40);
});

test('writes of one turn share a message', async () => {
  await start();
  await client.read(SHARD, 'count', null, inTime());
  const before = node.frames.received;
  await Promise.all(
    Array.from({ length: 100 }, (_, i) => client.write(SHARD, [{ type: 'delete', externalId: `${i}` }], inTime())),
  );
  expect(shards.applied).toHaveLength(100);
  expect(node.frames.received - before).toBeLessThanOrEqual(2);
});

test('a write of 64 MB arrives whole, as one, while reads go on', async () => {
  await start();
  const dim = 4096;
  const operations: WriteOperation[] = Array.from({ length: (64 * MEGABYTE) / (dim * 4) }, (_, i) => ({
    type: 'upsert',
    externalId: `item-${i}`,
    vector: new Float32Array(dim).fill(i),
    stamp: i,
    metadata: `{"i":${i}}`,
    text: undefined,
  }));
  let isWritten = false;
  const write = client.write(SHARD, operations, inTime()).finally(() => (isWritten = true));
  let readsMeanwhile = 0;
  while (!isWritten) {
    await search();
    readsMeanwhile += 1;
  }
  expect((await write).outcomes).toHaveLength(operations.length);
  expect(readsMeanwhile).toBeGreaterThan(1);
  expect(shards.applied).toHaveLength(1);
  const [stored] = shards.applied;
  expect(stored.length).toBe(operations.length);
  const damaged = stored.filter((operation, i) => {
    if (operation.type !== 'upsert') return true;
    return (
      operation.externalId !== `item-${i}` ||
      operation.metadata !== `{"i":${i}}` ||
      operation.vector.some((value) => value !== i)
    );
  });
  expect(damaged).toEqual([]);
});

test('an answer larger than a message arrives whole', async () => {
  await start();
  const items = Array.from({ length: 1000 }, (_, i) => ({
    externalId: `é${i}`,
    stamp: i,
    metadata: '{}',
    text: 'text '.repeat(100),
    vector: new Float32Array(2048).fill(i),
  }));
  shards.items = () => items;
  const found = await client.read(SHARD, 'scan', { after: null, limit: 1000, filter: null, vectors: true }, inTime());
  expect(found.map((item) => [item.externalId, item.stamp, item.metadata, item.text])).toEqual(
    items.map((item) => [item.externalId, item.stamp, item.metadata, item.text]),
  );
  expect(found.filter((item, i) => item.vector?.length !== 2048 || item.vector.some((value) => value !== i))).toEqual(
    [],
  );
});

test('a request too large for a message is refused by name', async () => {
  await start();
  const vector = new Float32Array(MEGABYTE);
  const request = { vector, k: 1, filter: null, effort: { type: 'exact' as const }, texts: false };
  await expect(client.read(SHARD, 'search', request, inTime())).rejects.toMatchObject({ kind: 'limit_exceeded' });
  expect(await search()).toEqual([]);
});

test('reads beyond what a node runs at once are refused as overloaded; the others are answered', async () => {
  await start({ runningReadsMax: 5 });
  let release: () => void = () => undefined;
  const held = new Promise<void>((done) => (release = done));
  shards.before = () => held;
  const reads = Promise.allSettled(Array.from({ length: 8 }, () => search()));
  await eventually('the first are running', () => shards.reads === 5);
  release();
  const kinds = (await reads).map((outcome) => (outcome.status === 'rejected' ? outcome.reason.kind : 'answered'));
  expect(kinds).toEqual([...Array(5).fill('answered'), ...Array(3).fill('overloaded')]);
  expect(await search()).toEqual([]);
});

test('a read that nobody waits for any more gives back its place when it ends', async () => {
  await start({ runningReadsMax: 1 });
  let release: () => void = () => undefined;
  const held = new Promise<void>((done) => (release = done));
  shards.before = () => held;
  // One whose time is over before it arrives takes no place: then another is sent. One may also begin only after its
  // client has given it up: then the next finds the place taken.
  await eventually('a read runs that nobody waits for', async () => {
    const kind = await search(client, within(100)).then(
      () => 'answered',
      (error) => error.kind,
    );
    expect(kind).toBe(kind === 'overloaded' && shards.reads === 1 ? 'overloaded' : 'unavailable');
    return shards.reads === 1;
  });
  await expect(search()).rejects.toMatchObject({ kind: 'overloaded' });
  release();
  await eventually('the place is free', () =>
    search().then(
      () => true,
      () => false,
    ),
  );
});

test('errors that are no operating errors keep their secrets', async () => {
  await start();
  shards.before = async () => {
    throw new Error('password 1234 at /etc/somewhere');
  };
  await expect(search()).rejects.toMatchObject({ kind: 'internal', message: 'internal error' });
});

describe('a reader that does not read', () => {
  const ANSWER_BYTES = 256 * 1024;
  let slow: { raw: Client; call: ClientDuplexStream<ReadFrame, AnswerFrame__Output> };
  let code: number | undefined;

  async function connectSlowly(): Promise<void> {
    const raw = new Client(node.address, ChannelCredentials.createInsecure());
    const call = raw.makeBidiStreamRequest<ReadFrame, AnswerFrame__Output>(
      readsDefinition.Exchange.path,
      readsDefinition.Exchange.requestSerialize,
      readsDefinition.Exchange.responseDeserialize,
      await provenMetadata(raw, node.address, readsDefinition.Exchange.path),
    );
    call.on('error', (error) => (code = (error as { code?: number }).code));
    code = undefined;
    // grpc-js begins to hold back what is not read with the first reading; it then keeps 16 messages.
    call.read();
    slow = { raw, call };
  }

  afterEach(() => {
    slow.call.cancel();
    slow.raw.close();
  });

  /** Asks for far more than may wait in the node's memory. */
  async function ask(count: number): Promise<void> {
    shards.hits = () => [{ externalId: 'a', score: 1, metadata: `"${'x'.repeat(ANSWER_BYTES)}"` }];
    for (let id = 1; id <= count; id++) {
      const request = { id, shard: SHARD, epoch: 1, remainingMs: 600_000, search: { vector: Buffer.alloc(8), k: 1 } };
      slow.call.write({ requests: [request] });
      if (id % 10 === 0) await new Promise((later) => setTimeout(later, 3));
    }
  }

  test('holds back its own requests only, and has all answers when it reads', async () => {
    await start();
    await connectSlowly();
    const COUNT = 600;
    await ask(COUNT);
    let seen = -1;
    await eventually('the node stops taking requests', async () => {
      const before = seen;
      seen = shards.reads;
      await new Promise((wait) => setTimeout(wait, 100));
      return seen > 0 && before === seen;
    });
    expect(seen).toBeLessThan(COUNT / 2);
    expect(await search()).toHaveLength(1);
    const answered = new Set<number>();
    slow.call.on('data', (frame: AnswerFrame__Output) => {
      for (const answer of frame.answers) if (!answer.more) answered.add(answer.id);
    });
    await eventually('all are answered', () => answered.size === COUNT);
  });

  test('holds no more than a bound, beyond which its answers are refused; others have theirs, and it gives all back', async () => {
    const answers = new AnswerBytes({ bytesMax: 4 * MEGABYTE });
    await start({ answers });
    await connectSlowly();
    await ask(30);
    await eventually('all are read', () => shards.reads === 30);
    // Half of all, and one answer.
    expect(answers.held).toBeLessThan(2 * MEGABYTE + 2 * ANSWER_BYTES);
    expect(await search()).toHaveLength(1);
    const refused = new Set<number>();
    const whole = new Set<number>();
    slow.call.on('data', (frame: AnswerFrame__Output) => {
      for (const { id, failure } of frame.answers) (failure?.kind === 'overloaded' ? refused : whole).add(id);
    });
    await eventually('all are answered', () => refused.size + whole.size === 30);
    expect(refused.size).toBeGreaterThan(10);
    expect(whole.size).toBeGreaterThan(5);
    await eventually('nothing is held', () => answers.held === 0);
    await ask(1);
    slow.call.cancel();
    await eventually('nothing is held of one that ended', () => answers.held === 0);
  });

  test('is cut after a while, and told why when it reads at last', async () => {
    await start({ stallMs: 300 });
    await connectSlowly();
    await ask(400);
    let begun = -1;
    await eventually('the node stops taking requests', async () => {
      const before = begun;
      begun = shards.reads;
      await new Promise((wait) => setTimeout(wait, 500));
      return begun > 0 && before === begun;
    });
    slow.call.resume();
    await eventually('it learns of it', () => code === 8);
    expect(await search()).toHaveLength(1);
  });
});
