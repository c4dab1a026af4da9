import { ProcessLimiter } from '../../../../../coordinator/service/limits/process-limiter';
import { rendezvousOwner, SharedLimiter } from '../../../../../coordinator/service/limits/shared-limiter';
import { subjectWithLimit } from '../../../../../coordinator/service/limits/subject';
import { ManualClock } from '../../../../support/manual-clock';

/** Coordinators of one cluster, each with a limiter of its own; `unreachable` answers nobody. */
function cluster(ids: string[], limit: number) {
  const clock = new ManualClock();
  const unreachable = new Set<string>();
  const limiters = new Map<string, SharedLimiter>();
  const asked: string[] = [];
  for (const ownId of ids) {
    const limiter = new SharedLimiter({
      limit,
      ownId,
      local: new ProcessLimiter({ limit, clock }),
      askOwner: async (id, subject) => {
        asked.push(id);
        return unreachable.has(id) ? null : (limiters.get(id) as SharedLimiter).admitForPeer(subject);
      },
    });
    limiter.setMembers(ids);
    limiters.set(ownId, limiter);
  }
  return { clock, unreachable, asked, limiter: (id: string) => limiters.get(id) as SharedLimiter };
}

const IDS = ['one', 'two', 'three'];

test('every member names the same owner, and one that leaves moves only what it owned', () => {
  const subjects = Array.from({ length: 600 }, (_, i) => `key-${i}`);
  const owned = new Map(IDS.map((id) => [id, subjects.filter((subject) => rendezvousOwner(subject, IDS) === id)]));
  for (const id of IDS) expect(owned.get(id)?.length).toBeGreaterThan(140);
  for (const subject of subjects) {
    expect(rendezvousOwner(subject, ['three', 'one', 'two'])).toBe(rendezvousOwner(subject, IDS));
    if (!owned.get('two')?.includes(subject))
      expect(rendezvousOwner(subject, ['one', 'three'])).toBe(rendezvousOwner(subject, IDS));
  }
  expect(rendezvousOwner('key', [])).toBeNull();
});

test('all coordinators together admit exactly the limit', async () => {
  const { limiter, clock } = cluster(IDS, 10);
  const decisions = [];
  for (let i = 0; i < 45; i += 1) decisions.push(await limiter(IDS[i % 3]).admit('key-1'));
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(10);
  expect(decisions[9]).toMatchObject({ allowed: true, limit: 10, remaining: 0 });
  clock.advance(60_000);
  expect((await limiter('two').admit('key-1')).allowed).toBe(true);
});

test('a coordinator that cannot reach the owner counts by itself', async () => {
  const { limiter, unreachable } = cluster(IDS, 5);
  const owner = rendezvousOwner('key-1', IDS) as string;
  const other = IDS.find((id) => id !== owner) as string;
  unreachable.add(owner);
  const decisions = [];
  for (let i = 0; i < 8; i += 1) decisions.push(await limiter(other).admit('key-1'));
  expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, true, true, false, false, false]);
});

test('members that come and go change the owner', async () => {
  const { limiter, asked } = cluster(IDS, 5);
  const owner = rendezvousOwner('key-1', IDS) as string;
  const [other] = IDS.filter((id) => id !== owner);
  await limiter(other).admit('key-1');
  expect(asked).toEqual([owner]);
  limiter(other).setMembers([]);
  await limiter(other).admit('key-1');
  expect(asked).toEqual([owner]);
});

test('a subject has the limit that its name says, whoever counts it', async () => {
  const { limiter } = cluster(IDS, 0);
  const own = subjectWithLimit('key:7', 5);
  const decisions = await Promise.all(Array.from({ length: 12 }, async (_, i) => limiter(IDS[i % 3]).admit(own)));
  expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5);
  expect(decisions[0]).toMatchObject({ limit: 5, remaining: 4 });
  expect(await limiter('one').admit('key:8')).toEqual({ allowed: true, limit: 0, remaining: 0, resetSeconds: 0 });
});

test('a subject without a limit is counted by nobody, where others have one', async () => {
  const { limiter, asked } = cluster(IDS, 1);
  for (let i = 0; i < 5; i += 1)
    for (const id of IDS)
      expect(await limiter(id).admit(subjectWithLimit('key:7', 0))).toMatchObject({ allowed: true, limit: 0 });
  expect(asked).toEqual([]);
});
