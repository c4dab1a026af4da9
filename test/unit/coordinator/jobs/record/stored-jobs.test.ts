import { JobDriver } from '../../../../../coordinator/jobs/driving/job-driver';
import { ONLY_DRIVER } from '../../../../../coordinator/jobs/driving/owned-entry';
import type { JobKind, RunningJob } from '../../../../../coordinator/jobs/record/job-kind';
import {
  jobFromEntry,
  jobPath,
  type JobRecord,
  jobToValue,
  newJobRecord,
} from '../../../../../coordinator/jobs/record/job-record';
import { StoredJobs } from '../../../../../coordinator/jobs/record/stored-jobs';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import type { ClusterStore } from '../../../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { type Logger, silentLogger } from '../../../../../shared/base/logs/logger';
import { systemClock } from '../../../../../shared/base/time/clock';
import { eventually } from '../../../../support/eventually';
import { ManualClock } from '../../../../support/manual-clock';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';

/** What becomes of jobs whose record is the common one. */

const log = silentLogger as Logger;
const COUNT: Pick<JobKind, 'kind' | 'rights' | 'atOnce'> = {
  kind: 'count',
  rights: { see: 'readonly', change: 'readwrite' },
  atOnce: 2,
};
let store: ClusterStore;
let running: { close(): Promise<void> }[];

beforeEach(async () => {
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  running = [];
});
afterEach(async () => {
  for (const one of running) await one.close();
  await store.close();
});

function jobsOf(
  kind: Partial<JobKind> & Pick<JobKind, 'run'>,
  options: { clock?: ManualClock; keptMax?: number; store?: ClusterStore } = {},
): StoredJobs {
  return new StoredJobs({
    store,
    leadership: () => ONLY_DRIVER,
    clock: systemClock,
    log,
    kinds: [{ ...COUNT, ...kind }],
    rightsOf: {},
    ...options,
  });
}

async function driven(jobs: StoredJobs, clock = systemClock): Promise<JobDriver<JobRecord>> {
  const driver = new JobDriver(jobs, { leadership: ONLY_DRIVER, clock, log });
  await driver.start();
  running.push(driver);
  return driver;
}

const job = (id: string) => ({ id, kind: 'count', collection: 'c', subject: '', input: null, unit: 'items' });
const stored = async (id: string): Promise<JobRecord> => jobFromEntry((await store.get(jobPath(id)))!);
const reaches = (id: string, state: string): Promise<void> =>
  eventually(`${id} is ${state}`, async () => (await stored(id)).state === state);

/** A run that ends when it is told, or is stopped. */
function untilStopped(stop: AbortSignal): Promise<null> {
  return new Promise((resolve) => stop.addEventListener('abort', () => resolve(null)));
}

test('a job runs and keeps what came of it, with how far it was', async () => {
  const jobs = jobsOf({
    run: async (one) => {
      one.report({ done: 3, total: 4 });
      return { found: 7 };
    },
  });
  await driven(jobs);
  expect(await jobs.begin(job('count-1'))).toMatchObject({ state: 'queued', progress: 0, perSecond: null });
  await reaches('count-1', 'done');
  expect(await jobs.get('count-1')).toMatchObject({
    state: 'done',
    progress: 1,
    done: 3,
    total: 4,
    result: { found: 7 },
    error: null,
  });
});

test('what a kind has stored with the beginning and the end of a job is stored in their transactions', async () => {
  const held = (id: string): string => `/held/${id}`;
  const jobs = jobsOf({
    begunWith: () => ({ step: 'counting', notes: { at: 0 } }),
    endedWith: ({ id }) => [{ type: 'delete', key: held(id) }],
    run: async ({ record: { id, step, notes } }, stop) => {
      if (id === 'count-2') throw new QuiverError('invalid_parameter', 'no');
      if (id === 'count-3') await untilStopped(stop);
      return { step, notes };
    },
  });
  const revisions = new Map<string, number>();
  store.watch('/', (await store.list('/')).revision, (events) => {
    for (const { type, key, revision } of events) if (type === 'delete') revisions.set(key, revision);
  });
  await driven(jobs);
  const ids = ['count-1', 'count-2', 'count-3'];
  for (const id of ids) {
    await store.transact([], [{ type: 'put', key: held(id), value: '' }]);
    await jobs.begin(job(id));
  }
  await reaches('count-3', 'running');
  expect((await stored('count-3')).step).toBe('counting');
  await jobs.cancel('count-3');
  for (const [i, state] of ['done', 'failed', 'cancelled'].entries()) await reaches(ids[i], state);
  for (const id of ids) expect(revisions.get(held(id))).toBe((await store.get(jobPath(id)))?.revision);
  expect((await stored('count-1')).result).toEqual({ step: 'counting', notes: { at: 0 } });
});

test('the next driver goes on from what the last one noted, and what that does then counts no more', async () => {
  const late: RunningJob[] = [];
  const first = jobsOf({
    run: async (one, stop) => {
      late.push(one);
      await one.note({ done: 5, total: 10, notes: { at: 5 } });
      return untilStopped(stop);
    },
  });
  await driven(first);
  await first.begin(job('count-1'));
  await eventually('it is half done', async () => (await stored('count-1')).done === 5);
  // As when its process does not run for a while: another one is the driver.
  const second = jobsOf({ run: async (one) => ({ from: one.record.notes, as: one.foundState }) });
  await driven(second);
  await reaches('count-1', 'done');
  expect((await stored('count-1')).result).toEqual({ from: { at: 5 }, as: 'running' });
  await expect(late[0].note({ done: 6 })).rejects.toThrow('changed by somebody else');
});

test('as many run as the kind allows, however many wait, with one watch and no timer for each', async () => {
  const COUNT_OF_JOBS = 2_000;
  const watch = jest.spyOn(store, 'watch');
  let most = 0;
  let now = 0;
  const seen: string[] = [];
  const jobs = jobsOf({
    run: async (one) => {
      most = Math.max(most, (now += 1));
      seen.push(one.record.id);
      await new Promise(setImmediate);
      now -= 1;
      return null;
    },
  });
  const ids = Array.from({ length: COUNT_OF_JOBS }, (_, i) => `count-${String(i).padStart(5, '0')}`);
  for (let at = 0; at < ids.length; at += 100) {
    const changes = ids
      .slice(at, at + 100)
      .map((id) => ({ type: 'put' as const, key: jobPath(id), value: jobToValue(newJobRecord(job(id), 0)) }));
    await store.transact([], changes);
  }
  const timers = jest.spyOn(global, 'setInterval');
  await driven(jobs);
  expect(timers).toHaveBeenCalledTimes(1);
  await eventually('some are done', () => seen.length >= 20);
  expect(watch).toHaveBeenCalledTimes(1);
  expect(most).toBe(2);
  // The oldest first.
  expect(seen.slice(0, 20).sort()).toEqual(ids.slice(0, 20));
  timers.mockRestore();
});

test('a list is the newest of those that are looked for, and goes through no more', async () => {
  const jobs = jobsOf({ run: async () => null });
  for (let i = 0; i < 30; i++) await jobs.begin(job(`count-${String(i).padStart(2, '0')}`));
  let looks = 0;
  const is = ({ id }: { id: string }): boolean => {
    looks += 1;
    return Number(id.slice(-1)) % 2 === 0;
  };
  const found = await jobs.list({ is, most: 3 });
  expect(found.map(({ id }) => id)).toEqual(['count-28', 'count-26', 'count-24']);
  expect(looks).toBe(6);
  expect(await jobs.list({ is, most: 100 })).toHaveLength(15);
  expect((await jobs.latest('count', ({ id }) => id.endsWith('1')))?.id).toBe('count-21');
});

test('a job rests while it is paused, and goes on from where it was', async () => {
  let runs = 0;
  const jobs = jobsOf({
    run: async (one, stop) => {
      runs += 1;
      if (one.record.notes !== null) return { from: one.record.notes };
      await one.note({ notes: 'half' });
      return untilStopped(stop);
    },
  });
  await driven(jobs);
  await jobs.begin(job('count-1'));
  await eventually('it runs', async () => (await stored('count-1')).notes === 'half');
  expect(await jobs.pause('count-1')).toMatchObject({ state: 'paused' });
  expect(await jobs.pause('count-1')).toMatchObject({ state: 'paused' });
  // Another one begins and ends meanwhile.
  await jobs.begin(job('count-2'));
  await eventually('another one runs', async () => (await stored('count-2')).notes === 'half');
  expect((await stored('count-1')).state).toBe('paused');
  expect(runs).toBe(2);
  expect(await jobs.resume('count-1')).toMatchObject({ state: 'queued' });
  await reaches('count-1', 'done');
  expect((await stored('count-1')).result).toEqual({ from: 'half' });
  await expect(jobs.resume('count-2')).rejects.toMatchObject({
    kind: 'conflict',
    message: 'job count-2 is not paused: it is running',
  });
});

test('what a job made is taken back before it is cancelled, also when that fails at first', async () => {
  const made = new Set<string>();
  let isAway = true;
  const jobs = jobsOf({
    run: async (one, stop) => {
      made.add(one.record.id);
      await one.note({ done: 1 });
      return untilStopped(stop);
    },
    undo: async (one) => {
      if (isAway) throw new QuiverError('unavailable', 'shard 0 does not answer');
      made.delete(one.record.id);
    },
  });
  await driven(jobs);
  await jobs.begin(job('count-1'));
  await eventually('it has begun', async () => (await stored('count-1')).done === 1);
  expect(await jobs.cancel('count-1')).toMatchObject({ state: 'running', step: 'cancelling' });
  await expect(jobs.pause('count-1')).rejects.toMatchObject({ kind: 'conflict' });
  await eventually(
    'it says what it waits for',
    async () => (await stored('count-1')).waitsFor === 'shard 0 does not answer',
  );
  isAway = false;
  await reaches('count-1', 'cancelled');
  expect([...made]).toEqual([]);
  expect(await jobs.cancel('count-1')).toBeNull();
});

test('one that waits or rests is cancelled at once where there is nothing to take back', async () => {
  const jobs = jobsOf({ run: async () => null });
  await jobs.begin(job('count-1'));
  expect(await jobs.cancel('count-1')).toMatchObject({ state: 'cancelled', endedAt: expect.any(String) });
});

test('kinds that can’t be cancelled or paused say why', async () => {
  const jobs = jobsOf({ run: async () => null, unpausable: 'it is too short', uncancellable: 'nodes do it' });
  await jobs.begin(job('count-1'));
  await expect(jobs.cancel('count-1')).rejects.toMatchObject({
    kind: 'conflict',
    message: 'job count-1 can’t be cancelled: nodes do it',
  });
  await expect(jobs.pause('count-1')).rejects.toMatchObject({
    kind: 'invalid_parameter',
    message: 'job count-1 can’t be paused: it is too short',
  });
});

test('an error that may pass is tried again and told meanwhile; another one fails the job', async () => {
  let failures = 1;
  const jobs = jobsOf({
    run: async (one) => {
      if (one.record.id === 'count-2') throw new QuiverError('not_found', 'collection "c" does not exist');
      if (failures-- > 0) throw new QuiverError('unavailable', 'the target does not answer; the call may be retried');
      return null;
    },
  });
  await driven(jobs);
  await jobs.begin(job('count-1'));
  await eventually(
    'it says what it waits for',
    async () => (await stored('count-1')).waitsFor === 'the target does not answer',
  );
  await reaches('count-1', 'done');
  expect((await stored('count-1')).waitsFor).toBeNull();
  await jobs.begin(job('count-2'));
  await reaches('count-2', 'failed');
  expect(await stored('count-2')).toMatchObject({
    error: 'collection "c" does not exist',
    endedAt: expect.any(String),
  });
});

test('one whose next attempt is to come lets others go first', async () => {
  const jobs = jobsOf({
    atOnce: 1,
    run: async (one) => {
      if (one.record.id === 'count-1') throw new QuiverError('unavailable', 'it is away');
      return null;
    },
  });
  await jobs.begin(job('count-1'));
  await jobs.begin(job('count-2'));
  await driven(jobs);
  await reaches('count-2', 'done');
  expect((await stored('count-1')).state).toBe('running');
});

test('of those that are over, the last ones stay for some days', async () => {
  const clock = new ManualClock();
  const jobs = jobsOf({ run: async () => null }, { clock, keptMax: 3 });
  const put = async (id: string, state: JobRecord['state'], days: number): Promise<void> => {
    const endedAt = state === 'queued' ? null : new Date(clock.wallMs() - days * 86_400_000).toISOString();
    const value = jobToValue({ ...newJobRecord(job(id), 0), kind: 'earlier', state, endedAt });
    await store.transact([], [{ type: 'put', key: jobPath(id), value }]);
  };
  for (const [i, days] of [1, 2, 3, 4].entries()) await put(`earlier-${i}`, 'done', days);
  await put('earlier-old', 'failed', 8);
  await put('earlier-waits', 'queued', 0);
  await driven(jobs, clock);
  await eventually('the old ones are gone', async () => (await store.list('/q/jobs/')).entries.length === 4);
  expect((await store.list('/q/jobs/')).entries.map(({ key }) => key)).toEqual(
    ['earlier-0', 'earlier-1', 'earlier-2', 'earlier-waits'].map(jobPath),
  );
});

test('a driver that is no longer the controller begins nothing', async () => {
  const leadership: { guard: { key: string; revision: number } | null } = { guard: null };
  let runs = 0;
  const run = async (): Promise<null> => {
    runs += 1;
    return null;
  };
  const jobs = new StoredJobs({
    store,
    leadership: () => leadership,
    clock: systemClock,
    log,
    kinds: [{ ...COUNT, run }],
    rightsOf: {},
  });
  await jobs.begin(job('count-1'));
  const driver = new JobDriver(jobs, { leadership, clock: systemClock, log });
  await driver.start();
  running.push(driver);
  await new Promise(setImmediate);
  expect(runs).toBe(0);
  const { revision } = (await store.transact([], [{ type: 'put', key: '/q/controller', value: 'a' }])) as {
    revision: number;
  };
  leadership.guard = { key: '/q/controller', revision };
  await reaches('count-1', 'done');
  expect(runs).toBe(1);
});

test('one that is given up while it rests takes back what it made', async () => {
  let undone = 0;
  const jobs = jobsOf({ run: (_, stop) => untilStopped(stop), undo: async () => void (undone += 1) });
  await jobs.begin(job('count-1'));
  await jobs.pause('count-1');
  await driven(jobs);
  await jobs.cancel('count-1');
  await reaches('count-1', 'cancelled');
  expect(undone).toBe(1);
});

describe('jobs that what is away is before together', () => {
  let clock: ManualClock;
  let jobs: StoredJobs;
  let begun: string[];
  let resting: string[];
  /** What the run of a job comes to; default: it is done. */
  let fails: Record<string, Error>;
  /** What a run waits for. */
  let held: Promise<void> | null;
  const away = new QuiverError('unavailable', 'the shard is away');

  beforeEach(async () => {
    clock = new ManualClock();
    [begun, resting, fails, held] = [[], [], {}, null];
    jobs = jobsOf(
      {
        obstructedWith: ({ collection }) => collection ?? '',
        sharesOf: ({ collection }) => [collection ?? ''],
        run: async ({ record: { id } }) => {
          await held;
          if (fails[id] !== undefined) throw fails[id];
          return null;
        },
      },
      { clock },
    );
    for (const id of ['count-1', 'count-2', 'count-3', 'count-4']) await jobs.begin(job(id));
    await jobs.begin({ ...job('count-5'), collection: 'other' });
    await jobs.entries.follow();
  });

  const due = () => [
    ...jobs.due({
      running: () => begun.map((id) => jobPath(id)),
      isRunning: (key) => begun.some((id) => jobPath(id) === key),
      isResting: ({ value }) => resting.includes(value.id),
    }),
  ];
  const ids = () => due().map(({ value }) => value.id);
  const attempt = async (id: string): Promise<void> => {
    const found = due().find(({ value }) => value.id === id)!;
    const stop = new AbortController().signal;
    await jobs.run(found, stop, { all: 0, unexpected: 0 }).catch(async (error: unknown) => {
      jobs.noteFailure(found, error);
      await eventually('it is told', async () => (await stored(id)).waitsFor !== null);
    });
  };

  test('try again one at a time, until one gets on', async () => {
    expect(ids()).toEqual(['count-1', 'count-5']);
    fails['count-1'] = away;
    await attempt('count-1');
    // Only that of another collection may begin.
    expect(ids()).toEqual(['count-5']);
    clock.advance(1_000);
    // One that has not failed here goes first.
    expect(ids()).toEqual(['count-2', 'count-5']);
    await attempt('count-2');
    await attempt('count-5');
    expect(ids()).toEqual(['count-1', 'count-3']);
    fails['count-3'] = away;
    await attempt('count-3');
    // Whoever drives next finds out anew.
    expect(ids()).toEqual([]);
    jobs.rest();
    expect(ids()).toEqual(['count-1', 'count-3']);
  });

  test('do not keep the others from their turn, where they are the only ones that fail', async () => {
    for (const id of ['count-1', 'count-2']) {
      fails[id] = away;
      await attempt(id);
      clock.advance(60_000);
    }
    expect(ids()).toEqual(['count-3', 'count-5']);
    // Both have failed, and one rests always.
    resting = ['count-3', 'count-4', 'count-2'];
    expect(ids()).toEqual(['count-1', 'count-5']);
    resting = ['count-1', 'count-2'];
    await attempt('count-3');
    expect(ids()).toEqual(['count-4', 'count-5']);
  });

  test('wait for one that runs only until it has run for a while', async () => {
    fails['count-1'] = away;
    await attempt('count-1');
    clock.advance(1_000);
    let release = (): void => undefined;
    held = new Promise((done) => (release = done));
    const ended = attempt('count-2');
    await reaches('count-2', 'running');
    [begun, resting] = [['count-2'], ['count-5']];
    expect(ids()).toEqual([]);
    clock.advance(10_000);
    expect(ids()).toEqual(['count-3']);
    release();
    await ended;
    begun = [];
    expect(ids()).toEqual(['count-1', 'count-3']);
  });

  test('are not those that only one of them fails of', async () => {
    fails['count-1'] = new QuiverError('unavailable', 'it changed', {
      cause: new QuiverError('conflict', 'it changed'),
    });
    await attempt('count-1');
    expect(ids()).toEqual(['count-1', 'count-5']);
    fails['count-1'] = away;
    await attempt('count-1');
    expect(ids()).toEqual(['count-5']);
    // One that is given up says nothing any more.
    await jobs.cancel('count-1');
    expect(ids()).toEqual(['count-2', 'count-5']);
  });
});
