import type { AnswerHold } from '../../../../../coordinator/service/answer-hold';
import type { CollectionRecord } from '../../../../../coordinator/service/collections/collection-record';
import { foundLists, type LaterParts } from '../../../../../coordinator/service/search/later-hits';
import { LEFT_OUT } from '../../../../../shared/contract/shard/shard-read';

const ITEM_BYTES = 64 * 1024;

/** What is held after these lists of hits were found, by their metadata. */
function heldFor(...lists: string[][]): number {
  let held = 0;
  const hold: AnswerHold = {
    itemBytesMax: () => ITEM_BYTES,
    reserve: () => undefined,
    reserveText: () => undefined,
    keep: (bytes) => (held = bytes),
    hasRoom: () => true,
  };
  const parts = {
    collection: { dim: 2, shards: 3 } as CollectionRecord,
    begin: () => ({}),
    hold,
  } as unknown as LaterParts;
  foundLists(
    lists.map((metadata) => ({
      hits: metadata.map((text, i) => ({ externalId: `id-${i}`, score: 1, metadata: text })),
      filter: null,
      output: { texts: false },
    })),
    parts,
  );
  return held;
}

test('what all lists of an answer hold is counted, whichever of them are whole', () => {
  const whole = Array.from({ length: 3 }, () => `{"a":"${'x'.repeat(10_000)}"}`);
  const partly = [whole[0], LEFT_OUT, LEFT_OUT];
  const round = heldFor(partly) - heldFor([]);
  // Two hits are left out, so no more than these are read at once.
  expect(round).toBeGreaterThan(2 * ITEM_BYTES);
  expect(round).toBeLessThan(2.5 * ITEM_BYTES);
  expect(heldFor(partly, whole)).toBe(heldFor(whole, partly));
  expect(heldFor(partly, ['{}'])).toBeGreaterThan(heldFor(partly));
  expect(heldFor(partly, partly)).toBeGreaterThan(heldFor(partly));
});

test('few bytes are held no longer than it takes to write them', () => {
  expect(heldFor(['{}', '{}'], [])).toBe(0);
});
