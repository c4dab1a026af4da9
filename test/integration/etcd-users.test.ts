import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { EtcdClusterStore } from '../../shared/cluster-store/etcd/etcd-cluster-store';
import { ensureEtcdUsers } from '../../shared/cluster-store/etcd/etcd-users';
import { eventually } from '../support/eventually';
import { EtcdProcess } from '../support/processes/etcd-process';

/** An etcd in which Quiver's members may do what they have to, and nobody else anything. */

const USER = { name: 'quiver', password: 'of-members', prefix: '/q/' };
const ROOT_PASSWORD = 'of-root';
/** No call fails because the machine is busy; etcd refuses at once. */
const PATIENT_MS = 120_000;

let etcd: EtcdProcess;
const opened: EtcdClusterStore[] = [];
beforeAll(async () => {
  etcd = await EtcdProcess.start();
});
afterAll(async () => {
  await Promise.all(opened.map((store) => store.close()));
  await etcd.destroy();
});

function storeOf(user: { username?: string; password?: string }): EtcdClusterStore {
  const store = new EtcdClusterStore({ endpoints: [etcd.endpoint], callTimeoutMs: PATIENT_MS, ...user });
  opened.push(store);
  return store;
}

const put = (store: EtcdClusterStore, key: string) => store.transact([], [{ type: 'put', key, value: '{}' }]);

test('members go on while users are made, and from then on nobody else is answered', async () => {
  const member = storeOf({ username: USER.name, password: USER.password });
  const stranger = storeOf({});
  await put(member, '/q/a');
  await put(stranger, '/other');
  const seen: string[] = [];
  member.watch('/q/', (await member.list('/q/')).revision, (events) => seen.push(...events.map(({ key }) => key)));
  const session = await member.openSession({ ttlSeconds: 3 });

  for (let time = 0; time < 2; time += 1) await ensureEtcdUsers({ endpoints: [etcd.endpoint] }, ROOT_PASSWORD, USER);

  await member.transact([], [{ type: 'put', key: '/q/b', value: '{}', session: session.id }]);
  await eventually('the watch goes on', () => seen.includes('/q/b'));
  expect((await member.list('/q/')).entries.map(({ key }) => key)).toEqual(['/q/a', '/q/b']);
  expect(await member.transact([], [])).toMatchObject({ applied: true });
  await session.close();

  await expect(member.get('/other')).rejects.toMatchObject({ kind: 'unavailable' });
  await expect(put(member, '/other')).rejects.toMatchObject({ kind: 'unavailable' });
  for (const user of [{}, { username: 'quiver', password: 'wrong' }])
    await expect(storeOf(user).get('/q/a')).rejects.toMatchObject({ kind: 'unavailable' });
  expect((await storeOf({ username: 'root', password: ROOT_PASSWORD }).get('/other'))?.value).toBe('{}');
});

test("a member's other password takes the place of the one before; another password of root is refused", async () => {
  await ensureEtcdUsers({ endpoints: [etcd.endpoint] }, ROOT_PASSWORD, { ...USER, password: 'the-next' });
  await expect(storeOf({ username: 'quiver', password: USER.password }).get('/q/a')).rejects.toMatchObject({
    kind: 'unavailable',
  });
  expect((await storeOf({ username: 'quiver', password: 'the-next' }).get('/q/a'))?.value).toBe('{}');
  await expect(ensureEtcdUsers({ endpoints: [etcd.endpoint] }, 'another', USER)).rejects.toThrow();
});

test('the command of the image does it', async () => {
  const other = await EtcdProcess.start();
  try {
    const environment = {
      ETCD_ENDPOINTS: other.endpoint,
      ETCD_USERNAME: 'quiver',
      ETCD_PASSWORD: 'p',
      ETCD_ROOT_PASSWORD: 'r',
    };
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [resolve(__dirname, '../../scripts/quiver.cjs'), 'etcd-users'],
      { env: environment },
    );
    expect(stdout).toContain('quiver may read and write /q/');
    const store = new EtcdClusterStore({ endpoints: [other.endpoint], callTimeoutMs: PATIENT_MS });
    await expect(store.get('/q/a')).rejects.toMatchObject({ kind: 'unavailable' });
    await store.close();
  } finally {
    await other.destroy();
  }
});
