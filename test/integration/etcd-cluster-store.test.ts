import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { join, resolve } from 'node:path';
import { createServer } from 'node:tls';
import { promisify } from 'node:util';
import type { ClusterStore, StoreEvent } from '../../shared/cluster-store/cluster-store';
import { EtcdClusterStore } from '../../shared/cluster-store/etcd/etcd-cluster-store';
import type { EtcdOptions } from '../../shared/cluster-store/etcd/etcd-transport';
import { EtcdCluster, EtcdProcess } from '../support/processes/etcd-process';
import { eventually } from '../support/eventually';
import { TcpProxy } from '../support/servers/tcp-proxy';

/** Of stores with calls that are to fail by it. Those that have to succeed are made again, or by another store. */
const TIMEOUT_MS = 2_000;
/** Of all others: no call fails because the machine is busy. */
const PATIENT_MS = 120_000;

type Stage = ReturnType<typeof emptyStage>;

/** What a test starts and opens, to be closed at its end. */
function emptyStage() {
  const opened: { close(): Promise<void> }[] = [];
  const closing = <Thing extends { close(): Promise<void> }>(thing: Thing): Thing => {
    opened.push(thing);
    return thing;
  };
  return {
    closing,
    startEtcd: async (): Promise<EtcdProcess> => {
      const etcd = await EtcdProcess.start();
      closing({ close: () => etcd.destroy() });
      return etcd;
    },
    openStore: (options: Partial<EtcdOptions> & { endpoints: string[]; confirmEveryMs?: number }): EtcdClusterStore =>
      closing(new EtcdClusterStore({ callTimeoutMs: PATIENT_MS, ...options })),
    end: async (): Promise<void> => {
      for (const thing of opened.reverse()) await thing.close();
    },
  };
}

/** A test with processes of its own, to be run beside others: most of the time it waits for deadlines and restarts. */
function onStage(story: (stage: Stage) => Promise<void>): () => Promise<void> {
  return async () => {
    const stage = emptyStage();
    try {
      await story(stage);
    } finally {
      await stage.end();
    }
  };
}

async function put(store: ClusterStore, ...keys: string[]): Promise<number> {
  const result = await store.transact(
    [],
    keys.map((key) => ({ type: 'put', key, value: key })),
  );
  if (!result.applied) throw new Error('a transaction without guards was refused');
  return result.revision;
}

async function remove(store: ClusterStore, key: string): Promise<number> {
  const result = await store.transact([], [{ type: 'delete', key }]);
  return result.applied ? result.revision : 0;
}

/** Forgets the past as of now. */
async function compact(etcd: EtcdProcess, revision: number): Promise<void> {
  await etcd.command('kv/compaction', { revision, physical: true });
}

/** The revision of now, once it is answered: an impatient store may need some calls to be connected. */
async function revisionBy(store: ClusterStore): Promise<number> {
  let found: number | null = null;
  await eventually('the store is connected', async () => {
    found = await store.list('connected/').then(
      ({ revision }) => revision,
      () => null,
    );
    return found !== null;
  });
  return found!;
}

/** Lists and watches as a user of the store does. */
async function watchFromNow(store: ClusterStore, prefix: string): Promise<StoreEvent[][]> {
  const calls: StoreEvent[][] = [];
  store.watch(prefix, await revisionBy(store), (events) => calls.push(events));
  return calls;
}

const facts = (calls: StoreEvent[][]): string[][] =>
  calls.map((events) => events.map((event) => `${event.type} ${event.key} @${event.revision}`));

test.concurrent(
  'a watch goes on after etcd was stopped, and after it was killed',
  onStage(async ({ startEtcd, openStore }) => {
    const etcd = await startEtcd();
    const store = openStore({ endpoints: [etcd.endpoint] });
    const calls = await watchFromNow(store, 'w/');
    const revisions = [await put(store, 'w/1')];
    await eventually('the first event', () => calls.length === 1);
    await etcd.restart();
    revisions.push(await put(store, 'w/2'));
    await eventually('the event after the restart', () => calls.length === 2);
    await etcd.kill();
    await etcd.start();
    revisions.push(await put(store, 'w/1'));
    await eventually('the event after the crash', () => calls.length === 3);
    expect(facts(calls)).toEqual([
      [`put w/1 @${revisions[0]}`],
      [`put w/2 @${revisions[1]}`],
      [`put w/1 @${revisions[2]}`],
    ]);
  }),
);

test.concurrent(
  'a watch tells what happened while its connection was cut, each change once, a transaction a call',
  onStage(async ({ closing, startEtcd, openStore }) => {
    const etcd = await startEtcd();
    const proxy = closing(await TcpProxy.start(etcd.clientPort));
    const writer = openStore({ endpoints: [etcd.endpoint] });
    const calls = await watchFromNow(openStore({ endpoints: [proxy.endpoint] }), 'w/');
    const expected: string[][] = [];
    for (let round = 0; round < 3; round++) {
      expected.push([`put w/a @${await put(writer, 'w/a')}`]);
      await eventually('the event over a sound connection', () => calls.length === expected.length);
      await proxy.cut();
      const both = await put(writer, 'w/b', 'w/c');
      expected.push([`put w/b @${both}`, `put w/c @${both}`], [`delete w/b @${await remove(writer, 'w/b')}`]);
      await proxy.restore();
      await eventually('the events of the cut', () => calls.length === expected.length);
    }
    expect(facts(calls)).toEqual(expected);
  }),
);

test.concurrent(
  'a watch finds out that its connection is silent',
  onStage(async ({ closing, startEtcd, openStore }) => {
    const etcd = await startEtcd();
    const [silent, sound] = [
      closing(await TcpProxy.start(etcd.clientPort)),
      closing(await TcpProxy.start(etcd.clientPort)),
    ];
    await sound.cut();
    const store = openStore({ endpoints: [silent.endpoint, sound.endpoint], callTimeoutMs: TIMEOUT_MS });
    const calls = await watchFromNow(store, 'w/');
    const patient = openStore({ endpoints: [etcd.endpoint] });
    await put(patient, 'w/0');
    await eventually('the watch is there', () => calls.length === 1);
    silent.silence();
    await sound.restore();
    await put(patient, 'w/1');
    await eventually('the event comes over the other connection', () => calls.length === 2);
  }),
);

test.concurrent(
  'a watch whose past was compacted while it was cut off is told the difference',
  onStage(async ({ closing, startEtcd, openStore }) => {
    const etcd = await startEtcd();
    const proxy = closing(await TcpProxy.start(etcd.clientPort));
    const writer = openStore({ endpoints: [etcd.endpoint] });
    await put(writer, 'w/kept', 'w/changed', 'w/gone');
    const calls = await watchFromNow(openStore({ endpoints: [proxy.endpoint] }), 'w/');
    const seen = await put(writer, 'w/seen-and-gone');
    await eventually('the event before the cut', () => calls.length === 1);
    await proxy.cut();
    await remove(writer, 'w/gone');
    await put(writer, 'w/came-and-went');
    await remove(writer, 'w/came-and-went');
    const changed = await put(writer, 'w/changed', 'w/new');
    const last = await remove(writer, 'w/seen-and-gone');
    await compact(etcd, last);
    await proxy.restore();
    await eventually('the difference', () => calls.length === 2);
    const after = await put(writer, 'w/after');
    await eventually('the watch goes on', () => calls.length === 3);
    expect(facts(calls)).toEqual([
      [`put w/seen-and-gone @${seen}`],
      [
        `put w/changed @${changed}`,
        `put w/new @${changed}`,
        `delete w/gone @${last}`,
        `delete w/seen-and-gone @${last}`,
      ],
      [`put w/after @${after}`],
    ]);
  }),
);

test.concurrent(
  'a watch that could never begin before its past was compacted is told the difference to what was listed',
  onStage(async ({ closing, startEtcd, openStore }) => {
    const etcd = await startEtcd();
    const proxy = closing(await TcpProxy.start(etcd.clientPort));
    const writer = openStore({ endpoints: [etcd.endpoint] });
    await put(writer, 'w/gone', 'w/kept');
    const reader = openStore({ endpoints: [proxy.endpoint] });
    const { revision } = await reader.list('w/');
    await proxy.cut();
    const calls: StoreEvent[][] = [];
    reader.watch('w/', revision, (events) => calls.push(events));
    const last = await remove(writer, 'w/gone');
    await compact(etcd, last);
    await proxy.restore();
    await eventually('the difference', () => calls.length === 1);
    expect(facts(calls)).toEqual([[`delete w/gone @${last}`]]);
  }),
);

test.concurrent(
  'a watch of a store that was put back to an earlier state is told the difference',
  onStage(async ({ closing, startEtcd, openStore }) => {
    const [first, second] = await Promise.all([startEtcd(), startEtcd()]);
    const proxy = closing(await TcpProxy.start(first.clientPort));
    const writer = openStore({ endpoints: [first.endpoint] });
    for (let i = 0; i < 5; i++) await put(writer, 'w/lost');
    const calls = await watchFromNow(openStore({ endpoints: [proxy.endpoint] }), 'w/');
    await put(writer, 'w/lost');
    await eventually('the event before', () => calls.length === 1);
    const restored = await put(openStore({ endpoints: [second.endpoint] }), 'w/old');
    await proxy.cut();
    proxy.targetPort = second.clientPort;
    await proxy.restore();
    await eventually('the difference', () => calls.length === 2);
    expect(facts(calls)[1]).toEqual([`put w/old @${restored}`, `delete w/lost @${restored}`]);
    await put(openStore({ endpoints: [second.endpoint] }), 'w/old');
    await eventually('the watch goes on', () => calls.length === 3);
  }),
);

test.concurrent(
  'a watch of a store that was put back and has come as far again meanwhile is told the difference',
  onStage(async ({ closing, startEtcd, openStore }) => {
    const etcd = await startEtcd();
    const proxy = closing(await TcpProxy.start(etcd.clientPort));
    const writer = openStore({ endpoints: [etcd.endpoint] });
    const kept = await put(writer, 'w/kept');
    await etcd.backUp();
    const calls = await watchFromNow(openStore({ endpoints: [proxy.endpoint], confirmEveryMs: 100 }), 'w/');
    await put(writer, 'w/lost');
    const seen = await put(writer, 'w/kept');
    await eventually('the events before', () => calls.length === 2);
    await proxy.cut();
    await etcd.putBack();
    while ((await put(writer, 'x')) < seen) continue;
    const since = await put(writer, 'w/new');
    await proxy.restore();
    // It may be told at once, or after what has come since, whichever the watch meets first.
    const told = (): string[] => facts(calls).slice(2).flat();
    await eventually('the difference', () => told().length >= 3);
    expect(told().sort()).toEqual([`delete w/lost @${since}`, `put w/kept @${kept}`, `put w/new @${since}`]);
  }),
);

test.concurrent(
  'a watch of what seldom changes is held against the store, and its stream stays',
  onStage(async ({ startEtcd, openStore }) => {
    const etcd = await startEtcd();
    const store = openStore({ endpoints: [etcd.endpoint], confirmEveryMs: 20 });
    const calls = await watchFromNow(store, 'w/');
    const before = await etcd.callsBegun('Range');
    await eventually('it was held against many revisions', async () => {
      await put(store, 'other');
      return (await etcd.callsBegun('Range')) > before + 50;
    });
    await put(store, 'w/1');
    await eventually('it tells what comes', () => calls.length === 1);
    expect(await etcd.callsBegun('Watch')).toBe(1);
  }),
);

test.concurrent(
  'a watch that begins far back is told revision by revision',
  onStage(async ({ startEtcd, openStore }) => {
    const etcd = await startEtcd();
    const store = openStore({ endpoints: [etcd.endpoint] });
    const from = await put(store, 'w/0');
    const revisions: number[] = [];
    for (let i = 0; i < 60; i++)
      revisions.push(...(await Promise.all(Array.from({ length: 20 }, () => put(store, 'w/0', 'w/1')))));
    const calls: StoreEvent[][] = [];
    store.watch('w/', from, (events) => calls.push(events));
    await eventually('all of it', () => calls.length >= revisions.length);
    expect(calls.map((events) => events.map((event) => event.revision))).toEqual(
      revisions.sort((a, b) => a - b).map((revision) => [revision, revision]),
    );
  }),
);

test.concurrent(
  'a watch whose listener throws goes on',
  onStage(async ({ startEtcd }) => {
    const etcd = await startEtcd();
    const register = join(resolve(__dirname, '..'), 'support/swc-register.js');
    const program = `
    const { EtcdClusterStore } = require('./shared/cluster-store/etcd/etcd-cluster-store.ts');
    process.on('uncaughtException', (error) => console.log('uncaught', error.message));
    const store = new EtcdClusterStore({ endpoints: ['${etcd.endpoint}'] });
    let calls = 0;
    store.list('w/').then(async ({ revision }) => {
      const second = new Promise((heard) => store.watch('w/', revision, () => { if (++calls === 2) heard(); else throw new Error('mine'); }));
      for (const key of ['w/1', 'w/2']) await store.transact([], [{ type: 'put', key, value: '' }]);
      await second;
      await store.close();
    });`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-r', register, '-e', program], {
      cwd: resolve(__dirname, '../..'),
    });
    expect(stdout).toBe('uncaught mine\n');
  }),
);

test.concurrent(
  'calls fail by their deadline while etcd is frozen, and work again afterwards',
  onStage(async ({ startEtcd, openStore }) => {
    const etcd = await startEtcd();
    const store = openStore({ endpoints: [etcd.endpoint], callTimeoutMs: TIMEOUT_MS });
    await revisionBy(store);
    etcd.pause();
    const outcomes = await Promise.allSettled([
      store.get('x'),
      store.list(''),
      store.openSession({ ttlSeconds: 2 }),
      put(store, 'y'),
    ]);
    expect(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.kind)).toEqual([
      'unavailable',
      'unavailable',
      'unavailable',
      'commit_unknown',
    ]);
    etcd.resume();
    await eventually('etcd answers again', () =>
      put(store, 'z').then(
        () => true,
        () => false,
      ),
    );
    expect((await openStore({ endpoints: [etcd.endpoint] }).get('z'))?.value).toBe('z');
  }),
);

test.concurrent(
  'calls are unavailable, and nothing was sent, while etcd is away',
  onStage(async ({ startEtcd, openStore }) => {
    const etcd = await startEtcd();
    const store = openStore({ endpoints: [etcd.endpoint], callTimeoutMs: TIMEOUT_MS });
    const before = await revisionBy(store);
    await etcd.kill();
    await expect(store.get('x')).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(put(store, 'y')).rejects.toMatchObject({ kind: 'unavailable' });
    await etcd.start();
    await eventually('etcd is found again', () =>
      store.get('x').then(
        () => true,
        () => false,
      ),
    );
    expect(await revisionBy(store)).toBe(before);
  }),
);

test.concurrent(
  'a transaction whose answer is lost is unknown and sent once',
  onStage(async ({ closing, startEtcd, openStore }) => {
    const etcd = await startEtcd();
    const proxy = closing(await TcpProxy.start(etcd.clientPort));
    const store = openStore({ endpoints: [proxy.endpoint] });
    const direct = openStore({ endpoints: [etcd.endpoint] });
    await put(store, 'x');
    const before = (await direct.list('')).revision;
    proxy.swallowAnswers();
    const outcome = put(store, 'y').then(
      () => 'applied',
      (error) => error.kind,
    );
    await eventually('the change is stored', async () => (await direct.get('y')) !== null);
    /* The connection breaks and is there again long before the deadline: time enough to send it twice. */
    await proxy.restore();
    expect(await outcome).toBe('commit_unknown');
    expect(await store.get('y')).not.toBeNull();
    await put(store, 'z');
    expect(await direct.get('y')).toMatchObject({ revision: before + 1 });
    expect((await direct.list('')).revision).toBe(before + 2);
  }),
);

test.concurrent(
  'calls under way when the store is closed end at once',
  onStage(async ({ closing, startEtcd, openStore }) => {
    const etcd = await startEtcd();
    const proxy = closing(await TcpProxy.start(etcd.clientPort));
    // Their own deadlines are beyond the test's.
    const store = openStore({ endpoints: [proxy.endpoint], callTimeoutMs: 600_000 });
    await put(store, 'x');
    proxy.swallowAnswers();
    const outcomes = Promise.allSettled([store.get('x'), put(store, 'y')]);
    await new Promise((turn) => setImmediate(turn));
    await store.close();
    expect((await outcomes).map((outcome) => outcome.status)).toEqual(['rejected', 'rejected']);
  }),
);

test.concurrent(
  'calls go on, and watches too, with one of three members dead or frozen; with two frozen they fail',
  onStage(async ({ closing, openStore }) => {
    const cluster = await EtcdCluster.start();
    closing({ close: () => cluster.destroy() });
    const store = openStore({ endpoints: cluster.endpoints, callTimeoutMs: TIMEOUT_MS });
    const calls = await watchFromNow(store, 'w/');
    let count = 0;
    const works = async (): Promise<void> => {
      const key = `w/${++count}`;
      /* A transaction that met the lost member, or the election of a leader, is unknown: its change is put again. */
      await eventually('a change is made', () =>
        put(store, key).then(
          () => true,
          () => false,
        ),
      );
      await eventually('the change is told', () => calls.flat().some((event) => event.key === key));
    };
    for (const member of cluster.members) {
      await member.kill();
      await works();
      await member.start();
      member.pause();
      await works();
      member.resume();
    }
    cluster.members[0].pause();
    cluster.members[1].pause();
    await expect(store.get('x')).rejects.toMatchObject({ kind: 'unavailable' });
    cluster.members[0].resume();
    cluster.members[1].resume();
    await works();
    const revisions = calls.map((events) => events[0].revision);
    expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
  }),
);

const certificate = (name: string): string => join(__dirname, '../support/certificates', name);
const own = {
  caFile: certificate('ca.pem'),
  certFile: certificate('client.pem'),
  keyFile: certificate('client.key.pem'),
};

test.concurrent(
  'over TLS the store trusts its CA and shows its certificate; without either there is no connection',
  onStage(async ({ closing, startEtcd, openStore }) => {
    const etcd = await startEtcd();
    const read = (name: string): Buffer => readFileSync(certificate(name));
    const identity = { ca: read('ca.pem'), cert: read('server.pem'), key: read('server.key.pem') };
    const server = createServer(
      { ...identity, requestCert: true, rejectUnauthorized: true, ALPNProtocols: ['h2'] },
      (client) => {
        const target = connect(etcd.clientPort, '127.0.0.1');
        for (const [from, to] of [
          [client, target],
          [target, client],
        ])
          from
            .on('error', () => undefined)
            .on('close', () => to.destroy())
            .pipe(to);
      },
    );
    server.on('tlsClientError', () => undefined);
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    closing({ close: async () => void server.close() });
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const endpoint of [address, `https://${address}`]) {
      const store = openStore({ endpoints: [endpoint], ...own });
      const revision = await put(store, 'x');
      expect((await store.get('x'))?.revision).toBe(revision);
    }
    const strangers: Partial<EtcdOptions>[] = [
      {},
      { caFile: own.caFile },
      { certFile: own.certFile, keyFile: own.keyFile },
    ];
    const refused = strangers.map((options) =>
      openStore({ endpoints: [`https://${address}`], ...options, callTimeoutMs: TIMEOUT_MS }).get('x'),
    );
    await Promise.all(refused.map((answer) => expect(answer).rejects.toMatchObject({ kind: 'unavailable' })));
    const plain = openStore({ endpoints: [`http://${etcd.endpoint}`], ...own });
    expect((await plain.get('x'))?.value).toBe('x');
  }),
);

test.concurrent(
  'with user names calls and watches authenticate, again after etcd forgot its tokens; others are refused',
  onStage(async ({ startEtcd, openStore }) => {
    const etcd = await startEtcd();
    const withName = openStore({ endpoints: [etcd.endpoint], username: 'root', password: 'right' });
    /* Names may be configured before etcd asks for them. */
    await put(withName, 'x');
    const calls = await watchFromNow(withName, 'w/');
    await etcd.command('auth/user/add', { name: 'root', password: 'right' });
    await etcd.command('auth/role/add', { name: 'root' });
    await etcd.command('auth/user/grant', { user: 'root', role: 'root' });
    await etcd.command('auth/enable', {});
    await put(withName, 'w/1');
    await etcd.restart();
    await put(withName, 'w/2');
    await eventually('the watch goes on', () => calls.length === 2);
    const session = await withName.openSession({ ttlSeconds: 2 });
    await session.close();
    for (const options of [{}, { username: 'root', password: 'wrong' }, { username: 'nobody', password: '' }]) {
      const other = openStore({ endpoints: [etcd.endpoint], ...options });
      await expect(other.get('x')).rejects.toMatchObject({ kind: 'unavailable' });
      await expect(put(other, 'x')).rejects.toMatchObject({ kind: 'unavailable' });
    }
  }),
);

test.concurrent(
  'a process whose store is closed can end: with etcd there, and with etcd away',
  onStage(async ({ startEtcd }) => {
    const etcd = await startEtcd();
    const register = join(resolve(__dirname, '..'), 'support/swc-register.js');
    const program = `
    const { EtcdClusterStore } = require('./shared/cluster-store/etcd/etcd-cluster-store.ts');
    const store = new EtcdClusterStore({ endpoints: ['${etcd.endpoint}', '127.0.0.1:1'] });
    store.watch('w/', 0, () => undefined);
    store.openSession({ ttlSeconds: 600 }).catch(() => undefined).then(() => new Promise((wake) => setTimeout(wake, 200))).then(async () => {
      await store.close();
      const closed = performance.now();
      process.on('exit', () => console.log(performance.now() - closed < 120_000 ? 'ended' : 'lingered'));
    });`;
    const run = async (): Promise<string> =>
      (
        await promisify(execFile)(process.execPath, ['-r', register, '-e', program], {
          cwd: resolve(__dirname, '../..'),
        })
      ).stdout;
    expect(await run()).toBe('ended\n');
    await etcd.kill();
    expect(await run()).toBe('ended\n');
  }),
);
