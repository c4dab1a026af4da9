import { CoordinatorAudience } from '../../../../coordinator/cluster/coordinator-audience';
import { KeyValueClusterStore } from '../../../../embedded/cluster-store/key-value-cluster-store';
import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import { COORDINATORS_PREFIX, type CoordinatorMember } from '../../../../shared/cluster-store/entries/members';
import { eventually } from '../../../support/eventually';
import { ManualClock } from '../../../support/manual-clock';
import { MemoryKeyValueStore } from '../../../support/models/memory-key-value-store';

function member(id: string, instance = id): CoordinatorMember {
  return { id, address: id, peerAddress: `${id}:1`, instance, pid: 1, startedAt: '' };
}

async function setUp(...members: CoordinatorMember[]) {
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const put = (one: CoordinatorMember) =>
    store.transact([], [{ type: 'put', key: COORDINATORS_PREFIX + one.id, value: JSON.stringify(one) }]);
  const leave = (id: string) => store.transact([], [{ type: 'delete', key: COORDINATORS_PREFIX + id }]);
  for (const one of members) await put(one);
  const asked: string[] = [];
  const knows = new Set<string>();
  const clock = new ManualClock();
  const audience = new CoordinatorAudience({
    store,
    ownId: 'own',
    members: () => members,
    peers: {
      know: async (address) => {
        asked.push(address);
        return knows.has(address);
      },
      ask: async (address, name) => ({ isHeld: knows.has(address), revision: 1, collection: `${name} by ${address}` }),
    },
    clock,
    timeoutMs: 1_000,
  });
  return { store, put, leave, asked, knows, clock, audience };
}

test('a change is known when every other coordinator says so', async () => {
  const { asked, knows, audience } = await setUp(member('own'), member('a'), member('b'));
  knows.add('a:1');
  let isKnown = false;
  const known = audience.know(7).then(() => (isKnown = true));
  await eventually('b is asked again', () => asked.filter((address) => address === 'b:1').length > 1);
  expect([isKnown, asked.includes('own:1')]).toEqual([false, false]);
  knows.add('b:1');
  await known;
});

test('one that is no member any more, or begins anew, is not waited for', async () => {
  const { put, leave, asked, audience } = await setUp(member('a'), member('b'));
  const known = audience.know(7);
  await eventually('both are asked', () => asked.includes('a:1') && asked.includes('b:1'));
  await leave('a');
  await put(member('b', 'anew'));
  await known;
});

test('one that stays a member and says nothing makes it an error, which says that the change was made', async () => {
  const { asked, clock, audience } = await setUp(member('a'));
  const known = audience.know(7);
  known.catch(() => undefined);
  await eventually('it is asked', () => asked.length > 0);
  clock.advance(1_001);
  await expect(known).rejects.toThrow('coordinator a does not answer, so it is not certain');
});

test('a store that is away is asked again, as long as there is time', async () => {
  const { store, clock, audience } = await setUp();
  const list = jest.spyOn(store, 'list').mockRejectedValue(new QuiverError('unavailable', 'away'));
  const known = audience.know(7);
  await eventually('it is asked again', () => list.mock.calls.length > 1);
  list.mockRestore();
  await known;
  jest.spyOn(store, 'list').mockRejectedValue(new QuiverError('unavailable', 'away'));
  const never = audience.know(8);
  never.catch(() => undefined);
  clock.advance(1_001);
  await expect(never).rejects.toThrow('the cluster store is away, so it is not certain');
});

test('what others know of a name is what each says', async () => {
  const { knows, audience } = await setUp(member('own'), member('a'), member('b'));
  knows.add('b:1');
  expect(await audience.ask('x')).toEqual([
    { isHeld: false, revision: 1, collection: 'x by a:1' },
    { isHeld: true, revision: 1, collection: 'x by b:1' },
  ]);
});
