import { checkHistory } from '../fault/history/check-history';
import { simulateHistory } from '../fault/history/simulated-history';
import { LIES, type Lie } from '../fault/history/simulated-store';
import { runSeed } from '../support/random';

/** The checker against a simulated service that keeps every promise, and against one that breaks one of them. */

const HONEST_SEEDS = Number(process.env.SEEDS ?? 60);
const LYING_SEEDS = 8;
const seed = runSeed('history-checker');

function rulesBroken(lie: Lie | null, seedOfRun: number, outcomes: 'exact' | 'retried'): string[] {
  const { operations } = simulateHistory({ seed: seedOfRun, lie });
  return [...new Set(checkHistory(operations, { metric: 'cosine', outcomes }).map(({ rule }) => rule))].sort();
}

test('finds nothing in histories of a service that keeps its promises', () => {
  for (let i = 0; i < HONEST_SEEDS; i += 1) {
    const { operations } = simulateHistory({ seed: seed + i, lie: null });
    expect({ seed: seed + i, violations: checkHistory(operations, { metric: 'cosine', outcomes: i % 2 === 0 ? 'exact' : 'retried' }).map(({ sentence }) => sentence) }).toEqual({
      seed: seed + i,
      violations: [],
    });
  }
});

// One that tried every order of them would not end within the test's time.
test('comes to an end when an id has hundreds of operations and many of them have no known end', () => {
  const { operations } = simulateHistory({ seed, lie: null, clients: 16, operationsPerClient: 150, ids: 8 });
  const perId = operations.filter(({ ids, outcome }) => ids.includes('id-0') && outcome !== 'fail');
  expect(perId.length).toBeGreaterThan(300);
  expect(checkHistory(operations, { metric: 'cosine', outcomes: 'exact' })).toEqual([]);
});

/** The rule that each lie breaks at least; other rules may find it as well. */
const CAUGHT_BY: Record<Lie, RegExp> = {
  'an acknowledged upsert is not applied': /read: (lost|stale|resurrected)|register/,
  'an acknowledged delete is not applied': /read: resurrected/,
  'a deleted item comes back': /read: (resurrected|stale)/,
  'a crash takes back what was acknowledged': /read: stale/,
  'an upsert is applied a second time': /read: stale/,
  'an unanswered upsert is applied a second time': /stale|resurrected|register/,
  'a refused upsert is applied': /phantom/,
  'a refused upsert is shown, then taken back': /phantom/,
  'a read is of the state before the last write': /read: stale/,
  'a read shows a value that nobody wrote': /read: phantom/,
  'an item has the vector of another value': /read: torn item/,
  'a new item is called updated': /register/,
  'a delete of a stored item finds nothing': /register/,
  'counts include deleted items': /count|final/,
  'counts leave out one shard': /count/,
  'an export leaves an item out': /export: missing/,
  'an export shows an item twice': /export: twice/,
  'an export shows deleted items': /export: resurrected/,
  'updated items move to the end of the order': /export: out of order/,
  'batches are inserted in reverse': /out of order/,
  'an export resumes in another order': /export: out of order/,
  'a search finds deleted items': /search: resurrected/,
  'a search scores the version before': /search: wrong score/,
  'a search shows the version before': /search: stale/,
  'an exact search misses the best hit': /search: missing/,
  'a search is not sorted': /search: unsorted/,
  'a search shows a hit twice': /search: twice/,
  'a search leaves the filter out': /search: filter/,
  'a search answers more than k': /search: too many/,
  'one coordinator has lost an item': /final: unequal/,
  'one coordinator has another order': /final: unequal/,
};

test.each(LIES)('catches a service where %s', (lie) => {
  const caught = Array.from({ length: LYING_SEEDS }, (_, i) => rulesBroken(lie, seed + i, 'exact')).filter((rules) => rules.some((rule) => CAUGHT_BY[lie].test(rule)));
  // A lie that is told seldom, or among unanswered writes only, may now and then not show.
  expect(caught.length).toBeGreaterThanOrEqual(LYING_SEEDS / 4);
});
