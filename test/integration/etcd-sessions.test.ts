import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { Election } from '../../coordinator/cluster/controller/election';
import { RegisteredEntry } from '../../shared/cluster-store/entries/registered-entry';
import { EtcdClusterStore } from '../../shared/cluster-store/etcd/etcd-cluster-store';
import type { StoreSession } from '../../shared/cluster-store/session-store';
import { EtcdProcess } from '../support/processes/etcd-process';
import { eventually } from '../support/eventually';
import { punctually } from '../support/punctual';
import { TcpProxy } from '../support/servers/tcp-proxy';

/** As members have: an owner that is late by two of them on a busy machine is lost. */
const TTL_SECONDS = 3;
/** Of calls that come when etcd does not answer. Those that have to succeed have longer: a busy machine may need it. */
const CALL_MS = 1_000;
const PATIENT_CALL_MS = 120_000;
/** An entry vanishes half a second after its TTL; etcd looks for ended leases twice a second, on a busy machine. */
const EXPIRY_MS = TTL_SECONDS * 1000 + 3000;

interface Candidate {
  election: Election;
  through: EtcdClusterStore;
  told: string[];
}

type Scene = Awaited<ReturnType<typeof setTheScene>>;

/** An etcd with a store on it, and what tests do with them. */
async function setTheScene() {
  const etcd = await EtcdProcess.start();
  const store = new EtcdClusterStore({ endpoints: [etcd.endpoint], callTimeoutMs: PATIENT_CALL_MS });
  const opened: { close(): Promise<void> }[] = [];
  const closing = <Thing extends { close(): Promise<void> }>(thing: Thing): Thing => {
    opened.push(thing);
    return thing;
  };
  const openStore = (endpoint = etcd.endpoint, callTimeoutMs = CALL_MS): EtcdClusterStore =>
    closing(new EtcdClusterStore({ endpoints: [endpoint], callTimeoutMs }));
  return {
    etcd,
    store,
    closing,
    openStore,
    exists: async (key: string): Promise<boolean> => (await store.get(key)) !== null,
    putUnder: async (session: StoreSession, key: string): Promise<void> => {
      await store.transact([], [{ type: 'put', key, value: 'x', session: session.id }]);
    },
    /** Ends the lease that a key is bound to, as an operator might. */
    revokeLeaseOf: async (key: string): Promise<void> => {
      const { kvs } = await etcd.command('kv/range', { key: Buffer.from(key).toString('base64') });
      await etcd.command('lease/revoke', { ID: kvs[0].lease });
    },
    register: (through: EtcdClusterStore, value = '1'): RegisteredEntry =>
      closing(new RegisteredEntry({ store: through, key: 'members/a', value, ttlSeconds: TTL_SECONDS })),
    value: async (): Promise<string | undefined> => (await store.get('members/a'))?.value,
    campaign: (id: string, through = openStore(), ttlSeconds = TTL_SECONDS): Candidate => {
      const told: string[] = [];
      const election = closing(
        new Election({
          store: through,
          path: '/q/controller',
          value: JSON.stringify({ id }),
          ttlSeconds,
          onElected: () => told.push('elected'),
          onDeposed: () => told.push('deposed'),
        }),
      );
      election.begin();
      return { election, through, told };
    },
    leaderValue: async (): Promise<string | undefined> => (await store.get('/q/controller'))?.value,
    end: async (): Promise<void> => {
      await Promise.all(opened.map((thing) => thing.close()));
      await store.close();
      await etcd.destroy();
    },
  };
}

/** A test with an etcd of its own, to be run beside others: most of the time it waits for a lease to run out. */
function onStage(story: (scene: Scene) => Promise<void>): () => Promise<void> {
  // A session is renewed three times in its TTL.
  return () =>
    punctually((TTL_SECONDS * 1000) / 3, async () => {
      const scene = await setTheScene();
      try {
        await story(scene);
      } finally {
        await scene.end();
      }
    });
}

const elected = async (candidate: Candidate): Promise<void> =>
  eventually('it is elected', () => candidate.election.isLeader);

/** A change under the guard of a candidate, made again until it is answered. */
async function changeAs({ election, through }: Candidate): Promise<{ applied: boolean }> {
  let result: { applied: boolean } | null = null;
  await eventually('the change is answered', async () => {
    result = await through
      .transact([election.guard ?? { key: '', revision: -1 }], [{ type: 'put', key: 'led', value: '1' }])
      .catch(() => null);
    return result !== null;
  });
  return result!;
}

test.concurrent(
  'a session keeps its entries beyond its TTL, and takes them along when it is closed',
  onStage(async ({ store, exists, putUnder }) => {
    const session = await store.openSession({ ttlSeconds: TTL_SECONDS });
    await putUnder(session, 's/1');
    const until = performance.now() + TTL_SECONDS * 1000 + 1500;
    await eventually('more than the TTL has passed', async () => {
      expect(await exists('s/1')).toBe(true);
      return performance.now() > until;
    });
    await session.close();
    expect(await exists('s/1')).toBe(false);
    expect(session.isLost).toBe(false);
  }),
);

test.concurrent(
  'a session runs out with its entries when its owner is gone',
  onStage(async ({ etcd, openStore, exists, putUnder }) => {
    const other = openStore(etcd.endpoint, PATIENT_CALL_MS);
    await putUnder(await other.openSession({ ttlSeconds: TTL_SECONDS }), 's/1');
    await other.close();
    expect(await exists('s/1')).toBe(true);
    await eventually('the entry vanishes', async () => !(await exists('s/1')));
  }),
);

test.concurrent(
  'a session that was revoked is lost, tells it once, and takes no more entries',
  onStage(async ({ store, putUnder, revokeLeaseOf }) => {
    const session = await store.openSession({ ttlSeconds: TTL_SECONDS });
    let told = 0;
    session.onLost(() => told++);
    await putUnder(session, 's/1');
    await revokeLeaseOf('s/1');
    await expect(putUnder(session, 's/2')).rejects.toMatchObject({ kind: 'unavailable' });
    await eventually('the loss is told', () => told === 1);
    expect(session.isLost).toBe(true);
    let toldLater = false;
    session.onLost(() => (toldLater = true));
    expect(toldLater).toBe(false);
    await eventually('the loss is told to a late listener', () => toldLater);
    await session.close();
    expect(told).toBe(1);
  }),
);

test.concurrent(
  'a session is not lost while etcd is away, and lives on when etcd is back',
  onStage(async ({ etcd, openStore, exists, putUnder }) => {
    const session = await openStore(etcd.endpoint, PATIENT_CALL_MS).openSession({ ttlSeconds: TTL_SECONDS });
    await putUnder(session, 's/1');
    etcd.pause();
    const until = performance.now() + TTL_SECONDS * 1500;
    await eventually('more than the TTL has passed', () => performance.now() > until);
    expect(session.isLost).toBe(false);
    await etcd.kill();
    await etcd.start();
    /* etcd gives every lease its whole TTL again at its start. */
    const settled = performance.now() + TTL_SECONDS * 1500;
    await eventually('the session is renewed again', async () => {
      expect(await exists('s/1')).toBe(true);
      return performance.now() > settled;
    });
    expect(session.isLost).toBe(false);
  }),
);

test.concurrent(
  'a session that ran out while its owner was cut off is lost when the connection is back',
  onStage(async ({ etcd, closing, openStore, exists, putUnder }) => {
    const proxy = closing(await TcpProxy.start(etcd.clientPort));
    const session = await openStore(proxy.endpoint, PATIENT_CALL_MS).openSession({ ttlSeconds: TTL_SECONDS });
    await putUnder(session, 's/1');
    await proxy.cut();
    await eventually('the entry vanishes', async () => !(await exists('s/1')));
    expect(session.isLost).toBe(false);
    await proxy.restore();
    await eventually('the loss is known', () => session.isLost);
  }),
);

test.concurrent(
  'a registered entry is there until it is closed, and takes updates, the last of which counts',
  onStage(async ({ openStore, register, value }) => {
    const entry = register(openStore());
    await eventually('it is registered', () => entry.isRegistered);
    expect(await value()).toBe('1');
    for (const update of ['2', '3', '4']) entry.update(update);
    await eventually('the last update is there', async () => (await value()) === '4');
    await entry.close();
    expect(await value()).toBeUndefined();
  }),
);

test.concurrent(
  'a registered entry comes back after its lease was revoked, and after it was deleted',
  onStage(async ({ store, openStore, revokeLeaseOf, register, value }) => {
    const entry = register(openStore());
    await eventually('it is registered', () => entry.isRegistered);
    await revokeLeaseOf('members/a');
    await eventually('it is back', async () => entry.isRegistered && (await value()) === '1');
    await store.transact([], [{ type: 'delete', key: 'members/a' }]);
    await eventually('it is back again', async () => entry.isRegistered && (await value()) === '1');
    entry.update('2');
    await eventually('it takes updates', async () => (await value()) === '2');
  }),
);

test.concurrent(
  'a registered entry is put once more after its session was lost, however late the end of its old entry is heard of',
  onStage(async ({ store, closing, openStore, revokeLeaseOf, value }) => {
    const sessions: StoreSession[] = [];
    const late = openStore();
    const entry = closing(
      new RegisteredEntry({
        store: {
          get: (key) => late.get(key),
          list: (prefix) => late.list(prefix),
          watch: (prefix, afterRevision, listener) => late.watch(prefix, afterRevision, listener),
          close: () => late.close(),
          openSession: async (options) => {
            sessions.push(await late.openSession(options));
            if (sessions.length === 2) await store.transact([], [{ type: 'delete', key: 'members/a' }]);
            return sessions[sessions.length - 1];
          },
          transact: async (guards, changes) => {
            const { revision } = await store.list('members/');
            const result = await late.transact(guards, changes);
            if (sessions.length !== 2 || entry.isRegistered) return result;
            // The answer comes after all that a watch of the entry may tell.
            let isTold = false;
            const stop = late.watch(
              'members/',
              revision - 1,
              (events) => (isTold ||= events.some((event) => result.applied && event.revision === result.revision)),
            );
            await eventually('the put is told', () => isTold);
            stop();
            return result;
          },
        },
        key: 'members/a',
        value: '1',
        ttlSeconds: TTL_SECONDS,
      }),
    );
    await eventually('it is registered', () => entry.isRegistered);
    await revokeLeaseOf('members/a');
    await store.transact([], [{ type: 'put', key: 'members/a', value: '0' }]);
    await eventually('it is registered under a second session', () => entry.isRegistered && sessions.length === 2);
    for (const update of ['2', '3']) {
      entry.update(update);
      await eventually('it takes an update', async () => (await value()) === update);
    }
    expect(sessions).toHaveLength(2);
  }),
);

test.concurrent(
  'a registered entry comes back after its owner was cut off for longer than the TTL, with what it was updated to meanwhile',
  onStage(async ({ etcd, closing, openStore, register, value }) => {
    const proxy = closing(await TcpProxy.start(etcd.clientPort));
    const entry = register(openStore(proxy.endpoint));
    await eventually('it is registered', () => entry.isRegistered);
    await proxy.cut();
    await eventually('it vanishes', async () => (await value()) === undefined);
    entry.update('2');
    await proxy.restore();
    await eventually('it is back', async () => entry.isRegistered && (await value()) === '2');
  }),
);

test.concurrent(
  'a registered entry that begins while etcd is away is there once etcd is',
  onStage(async ({ etcd, openStore, register, value }) => {
    await etcd.kill();
    const entry = register(openStore());
    await etcd.start();
    await eventually('it is registered', async () => entry.isRegistered && (await value()) === '1');
  }),
);

test.concurrent(
  'a registered entry of a process that starts again replaces the old one, whose end does not take it along',
  onStage(async ({ openStore, register, value }) => {
    const before = openStore();
    const old = register(before, '"old"');
    await eventually('the old one is registered', () => old.isRegistered);
    await before.close();
    const entry = register(openStore(), '"new"');
    await eventually('the new one is registered', async () => entry.isRegistered);
    const until = performance.now() + EXPIRY_MS;
    await eventually('the old lease has run out', async () => {
      expect(await value()).toBe('"new"');
      return performance.now() > until;
    });
  }),
);

test.concurrent(
  'a registered entry can be closed while etcd is away',
  onStage(async ({ etcd, openStore, register }) => {
    const entry = register(openStore());
    await eventually('it is registered', () => entry.isRegistered);
    await etcd.kill();
    await entry.close();
  }),
);

test.concurrent(
  'an election has one leader, and the next when that resigns, at once',
  onStage(async ({ store, openStore, campaign, leaderValue }) => {
    /* A lease that nobody has the patience for. */
    const longSeconds = 120;
    const first = campaign('a', openStore(), longSeconds);
    await elected(first);
    const others = [campaign('b'), campaign('c')];
    /* Keys next to the path are none of its business. */
    await store.transact([], [{ type: 'put', key: '/q/controllers', value: '1' }]);
    expect(await leaderValue()).toBe('{"id":"a"}');
    expect(await changeAs(first)).toMatchObject({ applied: true });
    await first.election.close();
    expect(first.told).toEqual(['elected', 'deposed']);
    await eventually('another is elected', () => others.some(({ election }) => election.isLeader));
    expect(others.filter(({ election }) => election.isLeader)).toHaveLength(1);
  }),
);

test.concurrent(
  'an election finds another leader within seconds of the death of the first',
  onStage(async ({ campaign, leaderValue }) => {
    const first = campaign('a');
    await elected(first);
    const second = campaign('b');
    await first.through.close();
    await eventually('the other takes over', () => second.election.isLeader);
    expect(await leaderValue()).toBe('{"id":"b"}');
    expect(second.told).toEqual(['elected']);
  }),
);

test.concurrent(
  'in an election a leader that was cut off learns late that it was deposed, and what it changes in between is refused',
  onStage(async ({ etcd, store, closing, openStore, campaign }) => {
    const proxy = closing(await TcpProxy.start(etcd.clientPort));
    const first = campaign('a', openStore(proxy.endpoint));
    await elected(first);
    const { guard } = first.election;
    const second = campaign('b');
    await proxy.cut();
    await eventually('the other takes over', () => second.election.isLeader);
    expect(first.told).toEqual(['elected']);
    const asDeposed = await store.transact(
      [guard ?? { key: '', revision: 0 }],
      [{ type: 'put', key: 'led', value: '1' }],
    );
    expect(asDeposed).toMatchObject({ applied: false });
    await proxy.restore();
    await eventually('the first hears of it', () => first.told.length === 2);
    expect(first.told).toEqual(['elected', 'deposed']);
    expect(first.election.guard).toBeNull();
    expect(await changeAs(second)).toMatchObject({ applied: true });
    await second.election.close();
    await elected(first);
  }),
);

test.concurrent(
  'in an election a leader whose lease is revoked is deposed at once, and one of the candidates is elected',
  onStage(async ({ revokeLeaseOf, campaign }) => {
    const first = campaign('a');
    await elected(first);
    const old = first.election.guard;
    await revokeLeaseOf('/q/controller');
    await eventually('it was deposed', () => first.told.includes('deposed'));
    await elected(first);
    expect(first.election.guard?.revision).toBeGreaterThan(old?.revision ?? Infinity);
    expect(first.told).toEqual(['elected', 'deposed', 'elected']);
  }),
);

test.concurrent(
  'an election goes on after etcd was frozen for longer than a call may take',
  onStage(async ({ etcd, campaign }) => {
    const candidates = [campaign('a'), campaign('b')];
    await eventually('one is elected', () => candidates.some(({ election }) => election.isLeader));
    etcd.pause();
    const until = performance.now() + 1500;
    await eventually('more than a deadline has passed', () => performance.now() > until);
    etcd.resume();
    await eventually('there is one leader, who may change things', async () => {
      const leaders = candidates.filter(({ election }) => election.isLeader);
      return leaders.length === 1 && (await changeAs(leaders[0])).applied;
    });
  }),
);

test.concurrent(
  'an election never has two leaders whose changes are taken, whatever happens to their connections',
  onStage(async ({ etcd, closing, openStore, campaign, leaderValue }) => {
    const proxies = await Promise.all([1, 2, 3].map(async () => closing(await TcpProxy.start(etcd.clientPort))));
    const candidates = proxies.map((proxy, i) => campaign(String(i), openStore(proxy.endpoint)));
    /* Terms of leaders in the order in which their changes were taken. */
    const terms: number[] = [];
    for (let round = 0; round < 4; round++) {
      let index = -1;
      await eventually('there is a leader whose change is taken', async () => {
        index = candidates.findIndex(({ election, told }) => election.isLeader && told.length > 0);
        const candidate = index < 0 ? undefined : candidates[index];
        const guard = candidate?.election.guard ?? null;
        if (candidate === undefined || guard === null) return false;
        const result = await candidate.through
          .transact([guard], [{ type: 'put', key: 'led', value: '1' }])
          .catch(() => null);
        if (result?.applied !== true) return false;
        terms.push(guard.revision);
        return true;
      });
      await proxies[index].cut();
      await eventually(
        'the entry of the one that was cut off is gone',
        async () => (await leaderValue()) !== `{"id":"${index}"}`,
      );
      await proxies[index].restore();
    }
    expect(terms).toEqual([...new Set(terms)].sort((a, b) => a - b));
  }),
);

test.concurrent(
  'a process with a member entry and a campaign outlives etcd, quietly, and is back with it',
  onStage(async ({ etcd, store, exists, closing }) => {
    const program = `
    const { EtcdClusterStore } = require('./shared/cluster-store/etcd/etcd-cluster-store.ts');
    const { RegisteredEntry } = require('./shared/cluster-store/entries/registered-entry.ts');
    const { Election } = require('./coordinator/cluster/controller/election.ts');
    const store = new EtcdClusterStore({ endpoints: ['${etcd.endpoint}'], callTimeoutMs: ${CALL_MS} });
    const options = { store, value: '1', ttlSeconds: ${TTL_SECONDS} };
    const entry = new RegisteredEntry({ ...options, key: 'members/a' });
    const election = new Election({ ...options, path: '/q/controller' });
    election.begin();
    process.stdin.once('data', async () => {
      await Promise.all([entry.close(), election.close()]);
      await store.close();
      process.stdin.destroy();
    });`;
    const register = join(__dirname, '../support/swc-register.js');
    const child = spawn(process.execPath, ['-r', register, '-e', program], {
      cwd: join(__dirname, '../..'),
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    closing({ close: async () => void child.kill('SIGKILL') });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    const isThere = async (): Promise<boolean> => (await exists('members/a')) && (await exists('/q/controller'));
    await eventually('it is registered and elected', isThere);
    await etcd.kill();
    const until = performance.now() + TTL_SECONDS * 1000;
    await eventually('calls and their retries have failed for a while', () => performance.now() > until);
    expect(child.exitCode).toBeNull();
    await etcd.start();
    await store.transact(
      [],
      [
        { type: 'delete', key: 'members/a' },
        { type: 'delete', key: '/q/controller' },
      ],
    );
    await eventually('it is registered and elected again', isThere);
    child.stdin.write('end');
    expect(await ended).toBe(0);
    expect(output).toBe('');
    // At once, unless etcd was too busy to be told.
    await eventually(
      'its entries are gone',
      async () => !(await exists('members/a')) && !(await exists('/q/controller')),
    );
  }),
);
