import { checkHistory } from '../fault/history/check-history';
import { checkShards } from '../fault/history/check-shards';
import { History, type OperationEnd, type OperationStart } from '../fault/history/history';
import { simulateHistory } from '../fault/history/simulated-history';
import { LIES, type Lie } from '../fault/history/simulated-store';
import { runSeed } from '../support/values/random';

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
    expect({
      seed: seed + i,
      violations: checkHistory(operations, { metric: 'cosine', outcomes: i % 2 === 0 ? 'exact' : 'retried' }).map(
        ({ sentence }) => sentence,
      ),
    }).toEqual({
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
  const caught = Array.from({ length: LYING_SEEDS }, (_, i) => rulesBroken(lie, seed + i, 'exact')).filter((rules) =>
    rules.some((rule) => CAUGHT_BY[lie].test(rule)),
  );
  // A lie that is told seldom, or among unanswered writes only, may now and then not show.
  expect(caught.length).toBeGreaterThanOrEqual(LYING_SEEDS / 4);
});

/** A history in which one operation comes after the other, and its rules that are broken. */
function shardsAfter(...steps: [OperationStart['kind'], number | null, OperationEnd['outcome'], number?][]): string[] {
  let now = 0;
  const history = new History({ nowNanos: () => (now += 1) });
  for (const [kind, asked, outcome, shown] of steps) {
    const end = history.begin({
      client: 'c',
      kind,
      args: asked === null ? {} : { shards: asked },
      coordinator: 'http://one:1',
    });
    end({ outcome, result: shown === undefined ? {} : { shards: shown } });
  }
  return checkShards(history.operations, 3).map(({ rule }) => rule);
}

test.each<[string, Parameters<typeof shardsAfter>, boolean]>([
  ['as many shards as it began with', [['count', null, 'ok', 3]], true],
  ['a number that nobody asked for', [['count', null, 'ok', 4]], false],
  [
    'what a reshard made of it, and then goes on from',
    [
      ['reshard', 5, 'ok', 3],
      ['count', null, 'ok', 5],
      ['reshard', 2, 'ok', 5],
      ['count', null, 'ok', 2],
    ],
    true,
  ],
  [
    'a reshard that goes on from what there never was',
    [
      ['reshard', 5, 'ok', 3],
      ['reshard', 2, 'ok', 4],
    ],
    false,
  ],
  [
    'what there was before the last reshard began',
    [
      ['reshard', 5, 'ok', 3],
      ['reshard', 2, 'ok', 5],
      ['count', null, 'ok', 3],
    ],
    false,
  ],
  [
    'a reshard that was given up, and takes over',
    [
      ['reshard', 5, 'ok', 3],
      ['cancel_reshard', null, 'ok'],
      ['count', null, 'ok', 5],
    ],
    false,
  ],
  [
    'a reshard that it was too late to give up',
    [
      ['reshard', 5, 'ok', 3],
      ['cancel_reshard', null, 'fail'],
      ['count', null, 'ok', 5],
    ],
    true,
  ],
  [
    'a reshard that was refused',
    [
      ['reshard', 5, 'fail'],
      ['count', null, 'ok', 5],
    ],
    false,
  ],
  [
    'a reshard whose begin has no known end',
    [
      ['reshard', 5, 'unknown'],
      ['count', null, 'ok', 3],
      ['count', null, 'ok', 5],
    ],
    true,
  ],
])('knows of reshards: %s', (_what, steps, isPossible) => {
  expect(shardsAfter(...steps)).toEqual(isPossible ? [] : ['shards: impossible']);
});
