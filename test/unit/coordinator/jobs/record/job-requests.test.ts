import { JobRequests } from '../../../../../coordinator/jobs/record/job-requests';
import type { JobSource } from '../../../../../coordinator/jobs/record/job-source';
import type { JobView } from '../../../../../coordinator/service/jobs-service';
import type { Scoped } from '../../../../../coordinator/service/keys/collection-scope';

/** One list of all jobs, of which each caller sees and touches its own. */

function job(id: string, given: Partial<JobView> = {}): JobView {
  const nothing = {
    step: null,
    collection: null,
    subject: '',
    perSecond: null,
    secondsLeft: null,
    startedAt: null,
    endedAt: null,
    error: null,
    waitsFor: null,
    result: null,
  };
  const rights = { see: 'readonly', change: 'readwrite' } as const;
  return {
    ...nothing,
    id,
    kind: id.split('-')[0],
    state: 'running',
    progress: 0,
    done: 0,
    total: 0,
    unit: 'items',
    createdAt: '2026-01-01T00:00:00.000Z',
    rights,
    ...given,
  };
}

function source(jobs: JobView[], kinds?: string[]): JobSource & { asked: number } {
  const get = async (id: string): Promise<JobView | null> => jobs.find((one) => one.id === id) ?? null;
  const changed =
    (state: JobView['state']) =>
    async (id: string): Promise<JobView | null> => {
      const found = await get(id);
      return found && Object.assign(found, { state });
    };
  const own = {
    asked: 0,
    get,
    cancel: changed('cancelled'),
    pause: changed('paused'),
    resume: changed('queued'),
    ...(kinds && { kinds }),
  };
  return Object.assign(own, {
    list: async () => {
      own.asked += 1;
      return jobs;
    },
  });
}

const admin: Scoped = { role: 'admin', collections: null };
const reader: Scoped = { role: 'readonly', collections: null };
const scoped: Scoped = { role: 'readonly', collections: [{ name: 'mine', role: 'readwrite' }, { name: 'seen' }] };

test('pages show each job once, the newest first, also where some began at the same time or come meanwhile', async () => {
  const at = (second: number): string => `2026-01-01T00:00:0${second}.000Z`;
  const first = [job('a-1', { createdAt: at(1) }), job('a-2', { createdAt: at(2) }), job('a-3', { createdAt: at(2) })];
  const second = [
    job('b-1', { createdAt: at(3) }),
    job('a-1', { createdAt: at(1), state: 'done' }),
    job('b-2', { createdAt: '' }),
  ];
  const requests = new JobRequests([source(first), source(second)]);
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await requests.list({ limit: 2, cursor });
    seen.push(...page.jobs.map(({ id, state }) => `${id} ${state}`));
    first.push(job(`new-${seen.length}`, { createdAt: at(9) }));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  expect(seen).toEqual(['b-1 running', 'a-3 running', 'a-2 running', 'a-1 running', 'b-2 running']);
});

test('a list of one kind asks nobody who has none of it; one of a state has no other', async () => {
  const other = source([job('move-1')], ['move', 'drain']);
  const own = source([job('verify-1'), job('verify-2', { state: 'queued' })]);
  const requests = new JobRequests([own]);
  requests.add(other);
  expect((await requests.list({ limit: 10, kind: 'verify', state: 'queued' })).jobs.map(({ id }) => id)).toEqual([
    'verify-2',
  ]);
  expect(other.asked).toBe(0);
  expect((await requests.list({ limit: 10 })).jobs).toHaveLength(3);
});

test('a list is of one collection, and a source is asked for more where two know the same jobs', async () => {
  const at = (second: number): string => `2026-01-01T00:00:0${second}.000Z`;
  const own = [5, 4, 3, 2, 1].map((second) => job(`a-${second}`, { createdAt: at(second), collection: 'c' }));
  const asked: number[] = [];
  const many: JobSource = {
    ...source([]),
    list: async ({ is, most }) => {
      asked.push(most);
      return own.filter((one) => is(one, one.rights)).slice(0, most);
    },
  };
  const requests = new JobRequests([source([own[0], own[1], job('other', { collection: 'd' })]), many]);
  expect((await requests.list({ limit: 2, collection: 'c' })).jobs.map(({ id }) => id)).toEqual(['a-5', 'a-4']);
  expect(asked).toEqual([3]);
  const hidden = new JobRequests([source(own.slice(0, 3)), many]);
  const page = await hidden.list({ limit: 3, collection: 'c' });
  expect(page.jobs.map(({ id }) => id)).toEqual(['a-5', 'a-4', 'a-3']);
  const rest = await hidden.list({ limit: 3, collection: 'c', cursor: page.nextCursor! });
  expect(rest.jobs.map(({ id }) => id)).toEqual(['a-2', 'a-1']);
  expect(rest.nextCursor).toBeNull();
});

test.each(['', 'x', Buffer.from('{}').toString('base64url')])(
  'a cursor that is none is refused: %j',
  async (cursor) => {
    await expect(new JobRequests([]).list({ limit: 1, cursor })).rejects.toMatchObject({ kind: 'invalid_parameter' });
  },
);

describe('rights follow what a job works on', () => {
  const all = (): JobRequests =>
    new JobRequests([
      source([
        job('optimize-mine', { collection: 'mine' }),
        job('optimize-seen', { collection: 'seen' }),
        job('optimize-other', { collection: 'other' }),
        job('reshard-mine', { collection: 'mine', rights: { see: 'admin', change: 'admin' } }),
        job('backup-1', { rights: { see: 'admin', change: 'admin' } }),
      ]),
    ]);
  const seenBy = async (caller?: Scoped): Promise<string[]> =>
    (await all().list({ limit: 10 }, caller)).jobs.map(({ id }) => id).sort();

  test('in lists', async () => {
    expect(await seenBy(scoped)).toEqual(['optimize-mine', 'optimize-seen']);
    expect(await seenBy(reader)).toEqual(['optimize-mine', 'optimize-other', 'optimize-seen']);
    expect(await seenBy(admin)).toHaveLength(5);
    expect(await seenBy()).toHaveLength(5);
  });

  test('for one: who may not know of it learns nothing, who may only see it is told what it takes', async () => {
    await expect(all().get('backup-1', reader)).rejects.toMatchObject({ kind: 'not_found' });
    await expect(all().cancel('reshard-mine', scoped)).rejects.toMatchObject({ kind: 'not_found' });
    await expect(all().pause('optimize-seen', scoped)).rejects.toMatchObject({
      kind: 'forbidden',
      message: 'job optimize-seen is changed with the role readwrite for the collection "seen"',
    });
    expect(await all().cancel('optimize-mine', scoped)).toMatchObject({ state: 'cancelled' });
  });
});

test('what is over is not changed, but one that is cancelled may be cancelled again', async () => {
  const requests = new JobRequests([source([job('a-1', { state: 'done' }), job('a-2', { state: 'cancelled' })])]);
  for (const change of ['cancel', 'pause', 'resume'] as const)
    await expect(requests[change]('a-1')).rejects.toMatchObject({
      kind: 'conflict',
      message: 'job a-1 is over: it is done',
    });
  expect(await requests.cancel('a-2')).toMatchObject({ state: 'cancelled' });
  await expect(requests.pause('a-2')).rejects.toMatchObject({ kind: 'conflict' });
});

test('one that ends on the way is over', async () => {
  const one = job('a-1');
  const ending = { ...source([one]), cancel: async () => Object.assign(one, { state: 'done' }) && null };
  await expect(new JobRequests([ending]).cancel('a-1')).rejects.toMatchObject({ kind: 'conflict' });
});
