import { appendFromWire, appendToWire } from '../../../../node/replication/replication-frames';
import { writeEntry } from '../../../support/stored-replica';

const SHARD = { collectionUid: 'c', shard: 0 };
const entries = [{ epoch: 1, sequence: 1, write: null }, writeEntry({ epoch: 1, sequence: 2 }, [{ type: 'delete', externalId: 'a' }])];
const message = { epoch: 1, from: 'a', prev: { epoch: 0, sequence: 0 }, commit: 0, sentAt: 0, releasesLease: false, sharesSince: 0, withdrawsShare: false, recorded: [], entries };
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

test.each(['in the message', 'in pieces'])('a write whose operations are of a later version, %s, arrives as one that is not known', (how) => {
  const payload = Buffer.from(entries[1].write!.payload);
  payload.writeUInt32LE(6, 0);
  const wire = appendToWire(SHARD, { ...message, entries: [{ ...entries[1], write: { ...entries[1].write!, payload } }] }, () => (how === 'in pieces' ? 1 : 0));
  const [write] = appendFromWire(wire, 'a', () => payload).message.entries;
  expect(write.unknown).toBe('its operations have version 6, and this program knows versions up to 5');
});
