import assert from 'node:assert/strict';
import { TextQueue, type WaitingText } from '../../../../../coordinator/models/transformers/text-queue';
import { runSeed, seededRandom } from '../../../../support/values/random';

const MANY = { textsMax: 16, charactersMax: 1024, isPadded: true };
const ONE = { textsMax: 1, charactersMax: Infinity, isPadded: true };

function waiting(call: string, lengths: number[]): WaitingText<string>[] {
  return lengths.map((length, index) => ({ text: 'x'.repeat(length), call, index }));
}

function namesOf(batch: WaitingText<string>[] | null): string[] {
  return (batch ?? []).map(({ call, index }) => `${call}${index}`);
}

describe('TextQueue', () => {
  test('texts of like length share a batch with the oldest, whatever call they are of', () => {
    const queue = new TextQueue<string>();
    queue.add('passage', waiting('a', [100, 400]));
    queue.add('passage', waiting('b', [104, 20, 390]));
    expect(namesOf(queue.take(MANY))).toEqual(['a0', 'b0']);
    expect(namesOf(queue.take(MANY))).toEqual(['a1', 'b2']);
    expect(namesOf(queue.take(MANY))).toEqual(['b1']);
    expect(queue.take(MANY)).toBeNull();
  });

  test('one at a time in order where batches are not allowed', () => {
    const queue = new TextQueue<string>();
    queue.add('passage', waiting('a', [5, 5, 5]));
    expect([queue.take(ONE), queue.take(ONE), queue.take(ONE), queue.take(ONE)].map(namesOf)).toEqual([
      ['a0'],
      ['a1'],
      ['a2'],
      [],
    ]);
  });

  test('queries go first, but every fourth turn is a passage', () => {
    const queue = new TextQueue<string>();
    queue.add('passage', waiting('p', [1, 1]));
    queue.add('query', waiting('q', [1, 1, 1, 1, 1, 1, 1]));
    const order = Array.from({ length: 9 }, () => namesOf(queue.take(ONE))[0][0]).join('');
    expect(order).toBe('qqqpqqqpq');
  });

  test('jobs come after both, and have every fourth turn of what queries leave', () => {
    const queue = new TextQueue<string>();
    queue.add('job', waiting('j', Array<number>(9).fill(1)));
    queue.add('passage', waiting('p', Array<number>(5).fill(1)));
    queue.add('query', waiting('q', [1, 1, 1, 1]));
    const order = Array.from({ length: 18 }, () => namesOf(queue.take(ONE))[0][0]).join('');
    expect(order).toBe('qqqpqppjppjjjjjjjj');
  });

  test('jobs take one text at once, and nothing ahead, as long as queries come', () => {
    const queue = new TextQueue<string>({ jobsYield: true });
    queue.add('job', waiting('j', Array<number>(100).fill(10)));
    expect(queue.take(MANY)).toHaveLength(16);
    queue.add('query', waiting('q', [10]));
    expect(namesOf(queue.take(MANY))).toEqual(['q0']);
    expect(queue.take(MANY, true)).toBeNull();
    for (let turn = 0; turn < 32; turn += 1) expect(queue.take(MANY)).toHaveLength(1);
    expect(queue.take(MANY, true)).toHaveLength(16);
    // What queries and clients wait for goes ahead at any time.
    queue.add('query', waiting('q', [10]));
    queue.add('passage', waiting('p', [10]));
    expect([queue.take(MANY, true), queue.take(MANY, true)].map(namesOf)).toEqual([['q0'], ['p0']]);
    expect(queue.take(MANY, true)).toBeNull();
  });

  test.each([
    ['passages that never end, after one query', ['passage'], 1],
    ['queries that never end', ['query'], 1],
    ['queries and passages that never end', ['query', 'passage'], 1],
    // Each comes while another one runs, and none is there when that ends.
    ['queries of which one runs at any time', ['query'], 2],
  ] as const)('jobs have a turn again and again beside %s, though a runner is always busy', (_what, lanes, every) => {
    const queue = new TextQueue<string>({ jobsYield: true });
    queue.add('job', waiting('j', Array<number>(1_000).fill(10)));
    queue.add('query', waiting('q', [10]));
    expect(namesOf(queue.take(MANY))).toEqual(['q0']);
    let others = 0;
    let mostOthers = 0;
    for (let turn = 0; turn < 400; turn += 1) {
      if (turn % every === 0) for (const lane of lanes) queue.add(lane, waiting(lane, [10]));
      const batch = queue.take(ONE, true);
      if (batch?.[0].call === 'j') others = 0;
      else if (batch !== null) others += 1;
      mostOthers = Math.max(mostOthers, others);
    }
    expect(mostOthers).toBeLessThanOrEqual(15);
  });

  test('a dropped call leaves nothing behind', () => {
    const queue = new TextQueue<string>();
    queue.add('query', waiting('a', [1, 1]));
    queue.add('query', waiting('b', [1]));
    queue.add('passage', waiting('a', [1]));
    queue.drop('a');
    expect([queue.waiting('query'), queue.waiting('passage')]).toEqual([1, 0]);
    expect(namesOf(queue.take(MANY))).toEqual(['b0']);
  });

  test('whatever arrives comes out once, within the bounds, and the oldest in each batch', () => {
    const random = seededRandom(runSeed('text queue'));
    const queue = new TextQueue<string>();
    const order: string[] = [];
    const seen = new Set<string>();
    let oldest = 0;
    // Thousands of texts: `expect` would take most of the time.
    for (let round = 0; round < 400; round++) {
      const lengths = Array.from({ length: Math.floor(random() * 40) }, () => Math.floor(random() ** 3 * 2000));
      const texts = waiting(`${round}-`, lengths);
      queue.add('passage', texts);
      order.push(...namesOf(texts));
      for (let take = Math.floor(random() * 8); take > 0 || round === 399; take--) {
        const batch = queue.take(MANY);
        if (batch === null) break;
        const longest = Math.max(...batch.map(({ text }) => text.length));
        assert.ok(batch.length === 1 || longest * batch.length <= MANY.charactersMax);
        assert.ok(batch.length <= MANY.textsMax);
        const names = namesOf(batch);
        while (seen.has(order[oldest])) oldest++;
        assert.ok(names.includes(order[oldest]), `${order[oldest]} is the oldest`);
        for (const name of names) {
          assert.ok(!seen.has(name), `${name} twice`);
          seen.add(name);
        }
      }
    }
    expect(seen.size).toBe(order.length);
    expect(queue.waiting('passage')).toBe(0);
  });
});
