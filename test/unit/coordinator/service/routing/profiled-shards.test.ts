import { ProfiledShards } from '../../../../../coordinator/service/routing/profiled-shards';
import { CallProfile } from '../../../../../shared/contract/shard/call-profile';
import { operationsToBytes } from '../../../../../shared/contract/writes/operation-codec';
import type { CallOptions } from '../../../../../shared/contract/shard/shard-client';
import { ManualClock } from '../../../../support/manual-clock';
import { PlainShardClient } from '../../../../support/shards/plain-shard-client';

const ID = { collectionUid: 'c', shard: 3 };
const BYTES = operationsToBytes(['a', 'b'].map((externalId) => ({ type: 'delete', externalId })));

/** Shards that take bytes, and note with what options. */
function encoding() {
  const plain = new PlainShardClient();
  const calls: CallOptions[] = [];
  const writeEncoded = async (_id: object, bytes: Buffer, call: CallOptions) => {
    calls.push(call);
    return { result: { outcomes: [], firstVersion: 0, present: [] }, bytes, isShared: false };
  };
  const noted = new ProfiledShards(Object.assign(plain, { writeEncoded }));
  return { noted, calls };
}

test('encoded writes pass as they are, and are noted where somebody looks', async () => {
  const { noted, calls } = encoding();
  const plainCall = { deadlineMs: 7 };
  expect((await noted.writeEncoded!(ID, BYTES, plainCall)).bytes).toBe(BYTES);
  expect(calls[0]).toBe(plainCall);
  const profile = new CallProfile(new ManualClock());
  await noted.writeEncoded!(ID, BYTES, { deadlineMs: 7, profile });
  expect(profile.calls).toMatchObject([{ kind: 'write', shard: 3, operations: 2 }]);
  expect(calls[1].profiled).toBe(profile.calls[0]);
});

test('where shards take no bytes, nor do the noted ones', () => {
  expect(new ProfiledShards(new PlainShardClient()).writeEncoded).toBeUndefined();
});
