import { MemberName } from '../../../../../shared/cluster-store/entries/member-name';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';

interface Entry {
  id: string;
  address: string;
  pid: number;
  startedAt: string;
}

const OTHER: Entry = { id: 'a', address: 'there:7000', pid: 7, startedAt: '2026-01-01T00:00:00Z' };

/** What the store says of the name; null: nobody has it. */
let entry: string | null;
let isAway: boolean;
let outcome: string;

beforeEach(() => {
  jest.useFakeTimers();
  entry = JSON.stringify(OTHER);
  isAway = false;
});
afterEach(() => jest.useRealTimers());

function begin(): void {
  const get = async (key: string): Promise<{ key: string; value: string; revision: number } | null> => {
    if (isAway) throw new QuiverError('unavailable', 'away');
    return entry === null ? null : { key, value: entry, revision: 1 };
  };
  const name = new MemberName<Entry>({
    store: { get },
    key: '/q/nodes/a',
    isSame: ({ address }) => address === 'here:7000',
  });
  const ask = (): void => {
    outcome = 'waits';
    name.free(new AbortController().signal).then(
      () => (outcome = 'free'),
      // As a start does it, which waits for the store.
      (error: QuiverError) => (error.retryable ? setTimeout(ask, 500) : (outcome = error.message)),
    );
  };
  ask();
}

test('a name that another process keeps is refused after a while, and says who has it', async () => {
  begin();
  await jest.advanceTimersByTimeAsync(14_000);
  expect(outcome).toBe('waits');
  await jest.advanceTimersByTimeAsync(2_000);
  expect(outcome).toBe(
    'NODE_ID a is in use by another process, at there:7000 (pid 7, started 2026-01-01T00:00:00Z): each member needs a name of its own',
  );
});

test('a name is free once the entry of a dead process is gone, however long the store was away meanwhile', async () => {
  begin();
  await jest.advanceTimersByTimeAsync(1_000);
  isAway = true;
  await jest.advanceTimersByTimeAsync(60_000);
  isAway = false;
  await jest.advanceTimersByTimeAsync(10_000);
  expect(outcome).toBe('waits');
  entry = null;
  await jest.advanceTimersByTimeAsync(1_000);
  expect(outcome).toBe('free');
});

test.each([
  ['of an earlier life of this process', JSON.stringify({ ...OTHER, address: 'here:7000' })],
  ['that nobody can read', '{'],
])('an entry %s is no hindrance', async (_what, value) => {
  entry = value;
  begin();
  await jest.advanceTimersByTimeAsync(0);
  expect(outcome).toBe('free');
});
