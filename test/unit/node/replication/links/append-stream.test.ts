import { AppendStream } from '../../../../../node/replication/links/append-stream';
import type { AppendMessage } from '../../../../../node/replication/core/messages';
import type { RpcChannel } from '../../../../../shared/wire/streams/rpc-channel';

/** What overtakes what on the way to another node. */

const MEGABYTE = 1024 * 1024;

let sent: string[];
let taken: (() => void)[];
let stream: AppendStream;

beforeEach(() => {
  sent = [];
  taken = [];
  let admitted = (): void => undefined;
  const channel = {
    open: (_frames: unknown, { ready }: { ready: (version: unknown) => void }) => {
      admitted = () => ready({});
      return streamOf();
    },
  } as unknown as RpcChannel;
  const streamOf = (): object => ({
    write: (
      frame: { beats: { joined: unknown[] }[]; appends: { shard: number; entries: { sequence: number }[] }[] },
      done: () => void,
    ) => {
      sent.push(
        ...frame.appends.map(({ shard, entries }) =>
          entries.length === 0 ? `beat of ${shard}` : `${entries[0].sequence} of ${shard}`,
        ),
      );
      taken.push(done);
    },
    cancel: () => undefined,
  });
  stream = new AppendStream({
    channel,
    nodeId: 'a',
    to: 'b',
    nowMs: () => 0,
    listener: { ready: () => undefined, ack: () => undefined, ended: () => undefined },
  });
  admitted();
});

afterEach(() => stream.close());

const turn = (): Promise<void> => new Promise((done) => setImmediate(done));

async function taking(): Promise<void> {
  await turn();
  while (taken.length > 0) {
    taken.shift()!();
    await turn();
  }
}

function send(shard: number, sequence: number | null, bytes = 0): void {
  const write = { source: { session: 's', requestNumber: 1, settledBelow: 1 }, payload: Buffer.alloc(bytes) };
  const entries: AppendMessage['entries'] = sequence === null ? [] : [{ epoch: 1, sequence, write }];
  const prev = { epoch: 1, sequence: (sequence ?? 1) - 1 };
  stream.send(
    { collectionUid: 'c', shard },
    {
      epoch: 1,
      from: 'a',
      prev,
      commit: 0,
      sentAt: 1,
      releasesLease: false,
      sharesSince: 0,
      withdrawsShare: false,
      recorded: [],
      entries,
    },
  );
}

test('a heartbeat and a small write overtake what another shard is catching up with', async () => {
  for (let sequence = 1; sequence <= 40; sequence++) send(0, sequence, MEGABYTE / 2);
  await turn();
  const underWay = sent.length;
  expect(underWay).toBeLessThan(10);
  send(1, null);
  send(1, 7, 100);
  await taking();
  expect(sent.slice(underWay, underWay + 2)).toEqual(['beat of 1', '7 of 1']);
  expect(sent.filter((what) => what.endsWith('of 0'))).toEqual(Array.from({ length: 40 }, (_, i) => `${i + 1} of 0`));
});

test('what a shard says comes in its order, whether it waits or not', async () => {
  for (let sequence = 1; sequence <= 12; sequence++) send(0, sequence, MEGABYTE / 2);
  send(0, null);
  send(0, 13, 100);
  await taking();
  expect(sent).toEqual([...Array.from({ length: 12 }, (_, i) => `${i + 1} of 0`), 'beat of 0', '13 of 0']);
  send(0, 14, 100);
  send(0, 15, MEGABYTE / 2);
  send(0, 16, 100);
  await taking();
  expect(sent.slice(-3)).toEqual(['14 of 0', '15 of 0', '16 of 0']);
});

test('a write that travels in pieces keeps its place, too', async () => {
  send(0, 1, 3 * MEGABYTE);
  send(0, 2, 100);
  send(1, null);
  await taking();
  expect(sent).toEqual(['beat of 1', '1 of 0', '2 of 0']);
});
