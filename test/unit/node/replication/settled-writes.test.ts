import assert from 'node:assert/strict';
import type { KeyValueEntry } from '../../../../node/engine/kv/key-value-store';
import { SettledWrites } from '../../../../node/replication/settled-writes';
import { runSeed, seededRandom } from '../../../support/values/random';

function source(session: string, requestNumber: number, settledBelow = 0) {
  return { session, requestNumber, settledBelow };
}

/** Applies a write; answers what it was. */
function take(settled: SettledWrites, sequence: number, of: ReturnType<typeof source>): string {
  const verdict = settled.begin(of, sequence);
  if (verdict.type === 'new') settled.finish(of, { outcomes: ['inserted'], firstVersion: 0, present: [] });
  return verdict.type === 'repeats' ? `repeats ${verdict.sequence}` : verdict.type;
}

/** What a store holds after the changes of some batches. */
class Stored {
  readonly entries = new Map<string, Buffer>();

  take(settled: SettledWrites): void {
    for (const change of settled.changes()) {
      if (change.type === 'put') this.entries.set(change.key.toString(), change.value);
      else this.entries.delete(change.key.toString());
    }
  }

  all(): KeyValueEntry[] {
    return [...this.entries]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => ({ key: Buffer.from(key), value }));
  }
}

test('a write is new once, and given up when its session has moved past it', () => {
  const settled = new SettledWrites();
  expect(take(settled, 1, source('a', 1))).toBe('new');
  expect(take(settled, 2, source('a', 1))).toBe('repeats 1');
  expect(take(settled, 3, source('b', 1))).toBe('new');
  expect(take(settled, 4, source('a', 5, 4))).toBe('new');
  expect(take(settled, 5, source('a', 3))).toBe('givenUp');
  expect(take(settled, 6, source('a', 1))).toBe('givenUp');
});

test('a session that settles nothing is remembered in bounded space, and none of its writes is new twice', () => {
  const settled = new SettledWrites();
  const count = 5000;
  for (let number = 1; number <= count; number++) take(settled, number, source('a', number));
  expect(settled.all().length).toBe(4096);
  for (let number = 1; number <= count; number++)
    assert.notEqual(take(settled, count + number, source('a', number)), 'new');
});

test('a write is known as long as at most 256 sessions write, and forgotten with its session after that', () => {
  const settled = new SettledWrites();
  take(settled, 1, source('a', 1));
  for (let other = 1; other <= 255; other += 1) take(settled, 1 + other, source(`other ${other}`, 1));
  expect(take(settled, 257, source('a', 1))).toBe('repeats 1');
  for (let later = 1; later <= 256; later += 1) take(settled, 257 + later, source(`later ${later}`, 1));
  expect(take(settled, 514, source('a', 1))).toBe('new');
});

test('what is remembered does not depend on how entries fall into batches, nor on restarts', () => {
  const random = seededRandom(runSeed('settled writes'));
  const writes = Array.from({ length: 4000 }, () =>
    source(`s${Math.floor(random() ** 2 * 600)}`, Math.floor(random() * 4)),
  );
  const single = new SettledWrites();
  const storedSingle = new Stored();
  const singleVerdicts = writes.map((of, i) => {
    const verdict = take(single, i + 1, of);
    storedSingle.take(single);
    return verdict;
  });
  let batched = new SettledWrites();
  const storedBatched = new Stored();
  const batchedVerdicts = writes.map((of, i) => {
    const verdict = take(batched, i + 1, of);
    if (random() < 0.01) {
      storedBatched.take(batched);
      if (random() < 0.3) batched = SettledWrites.load(storedBatched.all());
    }
    return verdict;
  });
  storedBatched.take(batched);
  expect(batchedVerdicts).toEqual(singleVerdicts);
  expect(storedBatched.all()).toEqual(storedSingle.all());
  expect(storedSingle.all().length).toBe(256);
});
