import { checkRegisters } from '../fault/history/check-registers';
import { keyOperations, type KeyOperation } from '../fault/history/key-operation';
import { KeyTimeline } from '../fault/history/key-timeline';
import type { Operation, OperationKind, OperationResult, Outcome } from '../fault/history/operation';
import { runSeed, seededRandom } from '../support/values/random';

/** The register check against its plain definition: every order of every choice of the unknown operations, tried. */

const HISTORIES = Number(process.env.HISTORIES ?? 6000);

interface Draft {
  client: string;
  kind: OperationKind;
  inv: number;
  ret: number;
  outcome?: Outcome;
  value?: string;
  result?: OperationResult;
}

function keyOperationsOf(drafts: Draft[]): KeyOperation[] {
  const operations = drafts.map(({ client, kind, inv, ret, outcome = 'ok', value, result = {} }, index): Operation => ({
    index,
    client,
    kind,
    ids: ['x'],
    args: value === undefined ? {} : { values: [value] },
    inv,
    ret,
    outcome,
    code: null,
    message: null,
    result,
    coordinator: 'http://one:1',
    final: false,
  }));
  return keyOperations(operations, { outcomes: 'exact' }).get('x') ?? [];
}

function isAccepted(operations: KeyOperation[]): boolean {
  return checkRegisters(new Map([['x', new KeyTimeline(operations)]])).length === 0;
}

/** Whether some order in real time, with any of the unknown operations left out, explains every answer. */
function isExplained(left: KeyOperation[], state: string | null): boolean {
  if (left.every(({ isCertain }) => !isCertain)) return true;
  const firstEnd = Math.min(...left.map(({ ret }) => ret));
  return left.some((operation) => {
    const { type, value, saw, inv } = operation;
    if (inv > firstEnd) return false;
    if (type === 'read' && value !== state) return false;
    if (saw !== null && (saw === 'absent') !== (state === null)) return false;
    return isExplained(
      left.filter((other) => other !== operation),
      type === 'read' ? state : value,
    );
  });
}

function randomHistory(random: () => number): Draft[] {
  const values = ['a', 'b', 'c'];
  const unused = [...values];
  return Array.from({ length: 3 + Math.floor(random() * 5) }, (_, i): Draft => {
    const inv = Math.floor(random() * 12);
    const base = { client: `c${i}`, inv: 2 * inv, ret: 2 * (inv + Math.floor(random() * 8)) + 1 };
    const what = random();
    const isUnknown = random() < 0.3;
    const outcome = isUnknown ? ('unknown' as const) : ('ok' as const);
    const value = what < 0.4 ? unused.shift() : undefined;
    if (value !== undefined) {
      return {
        ...base,
        kind: 'upsert',
        value,
        outcome,
        result: isUnknown || random() < 0.5 ? {} : { statuses: [random() < 0.5 ? 'inserted' : 'updated'] },
      };
    }
    if (what < 0.6)
      return { ...base, kind: 'delete', outcome, result: isUnknown ? {} : { deleted: random() < 0.5 ? ['x'] : [] } };
    const found = random() < 0.35 ? null : values[Math.floor(random() * 3)];
    return { ...base, kind: 'get', result: { items: found === null ? [] : [{ id: 'x', value: found }] } };
  });
}

test('agrees with the definition on small histories', () => {
  const random = seededRandom(runSeed('register-check'));
  const verdicts = { explained: 0, impossible: 0 };
  for (let i = 0; i < HISTORIES; i += 1) {
    const drafts = randomHistory(random);
    const operations = keyOperationsOf(drafts);
    const explained = isExplained(operations, null);
    expect({ drafts, accepted: isAccepted(operations) }).toEqual({ drafts, accepted: explained });
    verdicts[explained ? 'explained' : 'impossible'] += 1;
  }
  expect(Math.min(verdicts.explained, verdicts.impossible)).toBeGreaterThan(HISTORIES / 20);
});

const read = (client: string, inv: number, ret: number, value: string | null): Draft => ({
  client,
  kind: 'get',
  inv,
  ret,
  result: { items: value === null ? [] : [{ id: 'x', value }] },
});
const upsert = (client: string, inv: number, ret: number, value: string, outcome: Outcome = 'ok'): Draft => ({
  client,
  kind: 'upsert',
  inv,
  ret,
  value,
  outcome,
});
const remove = (client: string, inv: number, ret: number, outcome: Outcome = 'ok'): Draft => ({
  client,
  kind: 'delete',
  inv,
  ret,
  outcome,
  result: { deleted: ['x'] },
});

test('two readers may not see two overlapping writes in opposite orders', () => {
  const writes = [upsert('c1', 0, 100, 'a'), upsert('c2', 0, 100, 'b')];
  const first = [read('c3', 10, 20, 'a'), read('c3', 30, 40, 'b')];
  expect(isAccepted(keyOperationsOf([...writes, ...first]))).toBe(true);
  expect(isAccepted(keyOperationsOf([...writes, ...first, read('c4', 50, 60, 'a')]))).toBe(false);
});

test('an unknown write may appear late, but only once', () => {
  const appears = [
    upsert('c1', 0, 10, 'a', 'unknown'),
    read('c2', 20, 30, null),
    read('c2', 40, 50, 'a'),
    remove('c2', 60, 70),
  ];
  expect(isAccepted(keyOperationsOf([...appears, read('c2', 80, 90, null)]))).toBe(true);
  expect(isAccepted(keyOperationsOf([...appears, read('c2', 80, 90, 'a')]))).toBe(false);
});

test('an unknown delete explains one disappearance, not two', () => {
  const gone = [
    upsert('c1', 0, 10, 'a'),
    remove('c2', 20, 30, 'unknown'),
    read('c1', 40, 50, null),
    upsert('c1', 60, 70, 'b'),
  ];
  expect(isAccepted(keyOperationsOf([...gone, read('c1', 80, 90, 'b')]))).toBe(true);
  expect(isAccepted(keyOperationsOf([...gone, read('c1', 80, 90, null)]))).toBe(false);
});
