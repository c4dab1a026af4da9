import { outcomesToBytes, resultFromBytes, versionsToBytes } from '../../../../../shared/wire/codecs/outcome-codec';
import { EACH_VERSION, type WriteResult } from '../../../../../shared/contract/shard/shard-client';

/** More than a call has arguments, and less than MAX_BATCH_SIZE allows. */
const ITEMS = 200_000;

function roundTrip(result: WriteResult): WriteResult {
  return resultFromBytes(outcomesToBytes(result.outcomes), versionsToBytes(result));
}

test.each<[string, WriteResult]>([
  ['without versions', { outcomes: ['inserted'], firstVersion: 0, present: [] }],
  ['with the first version', { outcomes: ['inserted', 'updated'], firstVersion: 7, present: [] }],
  ['with what conflicts', { outcomes: ['conflict', 'updated', 'conflict'], firstVersion: 7, present: [3, 0] }],
  [
    'of a repetition',
    { outcomes: ['inserted', 'deleted'], firstVersion: EACH_VERSION, present: [Number.MAX_SAFE_INTEGER, 0] },
  ],
])('a result %s comes back', (_name, result) => {
  expect(roundTrip(result)).toEqual(result);
});

test('a large batch has a version for each item that is repeated, and for each that conflicts', () => {
  const present = Array.from({ length: ITEMS }, (_, i) => i + 1);
  const repeated = roundTrip({ outcomes: new Array(ITEMS).fill('inserted'), firstVersion: EACH_VERSION, present });
  expect([repeated.firstVersion, repeated.present.length, repeated.present[ITEMS - 1]]).toEqual([
    EACH_VERSION,
    ITEMS,
    ITEMS,
  ]);
  const conflicts = roundTrip({ outcomes: new Array(ITEMS).fill('conflict'), firstVersion: 7, present });
  expect([conflicts.firstVersion, conflicts.present.length, conflicts.present[0]]).toEqual([7, ITEMS, 1]);
});
