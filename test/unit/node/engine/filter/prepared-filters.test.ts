import { PreparedFilters } from '../../../../../node/engine/filter/prepared-filters';
import { ChunkedSlotSet } from '../../../../../node/engine/slots/chunked-slot-set';

/** Answers of filters that are worked out in slices while the index changes. */

const even = (slot: number): boolean => slot % 2 === 0;

/** Steps that go on until they are let go, and then answer with `found`. */
function held(found: number[]): { steps: Generator<undefined, ChunkedSlotSet>; letGo(): void } {
  let isHeld = true;
  function* steps(): Generator<undefined, ChunkedSlotSet> {
    while (isHeld) yield;
    return ChunkedSlotSet.fromSorted(found);
  }
  return { steps: steps(), letGo: () => (isHeld = false) };
}

function slotsOf(found: ChunkedSlotSet | null): number[] | null {
  return found === null ? null : [...found];
}

test('what changes while the work goes on is looked at by itself, and so is what changes after it', async () => {
  const prepared = new PreparedFilters();
  const { steps, letGo } = held([2, 3, 4]);
  const done = prepared.prepare('key', steps, even);
  expect(prepared.get('key')).toBeNull();
  for (const slot of [3, 5, 6]) prepared.slotChanged(slot);
  letGo();
  await done;
  expect(slotsOf(prepared.get('key'))).toEqual([2, 4, 6]);
  prepared.slotChanged(8);
  prepared.slotChanged(9);
  expect(slotsOf(prepared.get('key'))).toEqual([2, 4, 6, 8]);
});

test('what is handed out is not changed by what comes later', async () => {
  const prepared = new PreparedFilters();
  const { steps, letGo } = held([2]);
  letGo();
  await prepared.prepare('key', steps, even);
  const found = prepared.get('key');
  prepared.slotChanged(4);
  expect(slotsOf(prepared.get('key'))).toEqual([2, 4]);
  expect(slotsOf(found)).toEqual([2]);
});

test('those who ask for the same filter wait for the same work', async () => {
  const prepared = new PreparedFilters();
  const { steps, letGo } = held([2]);
  const first = prepared.prepare('key', steps, even);
  const second = prepared.prepare('key', held([4]).steps, even);
  letGo();
  await Promise.all([first, second]);
  expect(slotsOf(prepared.get('key'))).toEqual([2]);
});

test('a failure reaches all who wait, and the next one begins anew', async () => {
  const prepared = new PreparedFilters();
  function* failing(): Generator<undefined, ChunkedSlotSet> {
    yield;
    throw new Error('no index');
  }
  await expect(prepared.prepare('key', failing(), even)).rejects.toThrow('no index');
  const { steps, letGo } = held([2]);
  letGo();
  await prepared.prepare('key', steps, even);
  expect(slotsOf(prepared.get('key'))).toEqual([2]);
});

test('an answer is given up when much has changed, and the oldest make room', async () => {
  const prepared = new PreparedFilters();
  for (let i = 0; i < 30; i++) {
    const { steps, letGo } = held([i]);
    letGo();
    await prepared.prepare(`key ${i}`, steps, even);
    expect(slotsOf(prepared.get(`key ${i}`))).toEqual([i]);
  }
  expect(prepared.get('key 0')).toBeNull();
  for (let slot = 0; slot < 2_000; slot++) prepared.slotChanged(slot);
  expect(prepared.get('key 29')).toBeNull();
  expect(prepared.memoryBytes).toBe(0);
});
