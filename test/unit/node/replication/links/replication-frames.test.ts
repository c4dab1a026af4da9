import { exchangeCodec } from '../../../../../node/replication/links/replication-definition';
import { appendFromWire, appendToWire } from '../../../../../node/replication/links/replication-frames';
import { OPERATIONS_VERSION } from '../../../../../shared/contract/writes/operation-format';
import { writeEntry } from '../../../../support/shards/stored-replica';

const SHARD = { collectionUid: 'c', shard: 0 };
const entries = [
  { epoch: 1, sequence: 1, write: null },
  writeEntry({ epoch: 1, sequence: 2 }, [{ type: 'delete', externalId: 'a' }]),
];
const message = {
  epoch: 1,
  from: 'a',
  prev: { epoch: 0, sequence: 0 },
  commit: 0,
  sentAt: 0,
  releasesLease: false,
  sharesSince: 0,
  withdrawsShare: false,
  recorded: [],
  entries,
};
const noPieces = (): number => 0;
const nothingJoined = (): Buffer => Buffer.alloc(0);

test('entries arrive as they were sent', () => {
  expect(appendFromWire(appendToWire(SHARD, message, noPieces), 'a', nothingJoined)).toEqual({ shard: SHARD, message });
});

test('an entry of another format arrives as one that is not known', () => {
  const wire = appendToWire(SHARD, message, noPieces);
  wire.entries[0].format = 7;
  const [barrier, write] = appendFromWire(wire, 'a', nothingJoined).message.entries;
  expect(barrier.unknown).toBe('the entry has format 7, and this program knows formats up to 0');
  expect(write.unknown).toBeUndefined();
});

test.each(['in the message', 'in pieces'])(
  'a write whose operations are of a later version, %s, arrives as one that is not known',
  (how) => {
    const payload = Buffer.from(entries[1].write!.payload);
    payload.writeUInt32LE(OPERATIONS_VERSION + 1, 0);
    const wire = appendToWire(
      SHARD,
      { ...message, entries: [{ ...entries[1], write: { ...entries[1].write!, payload } }] },
      () => (how === 'in pieces' ? 1 : 0),
    );
    const [write] = appendFromWire(wire, 'a', () => payload).message.entries;
    expect(write.unknown).toBe(
      `its operations have version ${OPERATIONS_VERSION + 1}, and this program knows versions up to ${OPERATIONS_VERSION}`,
    );
  },
);

/** Followers keep the newest entries, and count the bytes of their payloads alone. */
test('a small payload does not keep the message alive in which it came with a large one', () => {
  const payloads = [300, 900_000].map((length, i) => {
    const payload = Buffer.alloc(length, i + 1);
    payload.writeUInt32LE(OPERATIONS_VERSION, 0);
    return payload;
  });
  const sent = payloads.map((payload, i) => ({ epoch: 1, sequence: i + 1, write: { ...entries[1].write!, payload } }));
  const bytes = exchangeCodec.requestSerialize({
    node: '',
    pieces: [],
    appends: [appendToWire(SHARD, { ...message, entries: sent }, noPieces)],
    beats: [],
  });
  const [wire] = exchangeCodec.requestDeserialize(bytes).appends;
  const received = appendFromWire(wire, 'a', nothingJoined).message.entries.map(({ write }) => write!.payload);
  expect(received.map((payload, i) => payload.equals(payloads[i]))).toEqual([true, true]);
  expect(received[0].buffer.byteLength).toBeLessThanOrEqual(600);
  // One that is most of its message is not copied.
  expect(received[1].buffer).toBe(wire.entries[1].write!.payload.buffer);
});
