import { createHash, randomBytes } from 'node:crypto';
import { CONTROLLER_PATH, isOfSession, NODES_PREFIX, STATE_PREFIX } from '../../shared/cluster-store/entries/members';
import { FIELDS, membersDefinition } from '../../shared/wire/handshake/handshake-metadata';
import { eventually } from '../support/eventually';
import { ClusterProcesses, SECRET } from '../support/processes/cluster-processes';
import type { MemberProcess } from '../support/processes/member-process';
import { ImpostorNode, relayedHello } from '../support/cluster/impostor-node';

/** What somebody can do to a cluster who can write to its etcd, or listens at an address that its members dial. */

const NEW_SECRET = 'the-secret-after-the-first-one';

async function refusedEntries(member: MemberProcess): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${member.opsPort}/metrics`)).text();
  return Number(/^quiver_etcd_entries_refused_total(?:\{.*\})? (\d+)$/m.exec(text)?.[1] ?? 0);
}

async function codeWith(cluster: ClusterProcesses, key: string): Promise<number> {
  const answer = await fetch(`${cluster.baseUrl()}/v1/collections`, { headers: { 'x-api-key': key } });
  return ((await answer.json()) as { error: { code: number } | null }).error?.code ?? 200;
}

describe('a cluster whose etcd others can write to', () => {
  let cluster: ClusterProcesses;
  beforeAll(async () => {
    cluster = await ClusterProcesses.start({ nodes: 2, coordinators: 1, replicas: 2, shards: 1 });
    await cluster.data('POST', '/v1/collections', { name: 'c', dim: 2 });
    await cluster.data('POST', '/v1/collections/c/upsert', { external_id: 'x', vector: [1, 2] });
  });
  afterAll(() => cluster?.destroy());

  const answersAsEver = async (): Promise<void> => {
    const { results } = await cluster.data('POST', '/v1/collections/c/search', { vector: [1, 2], k: 1 });
    expect(results).toMatchObject([{ external_id: 'x' }]);
  };

  test('takes no key from there, neither a made-up one nor a good one under another id', async () => {
    const store = cluster.openBareStore();
    try {
      const { key: guestKey } = await cluster.data('POST', '/v1/admin/keys', { name: 'guest', role: 'readonly' });
      const record = {
        id: 99,
        name: 'mine',
        role: 'admin',
        digest: createHash('sha256').update('forged-key').digest('hex'),
        createdAt: new Date().toISOString(),
        isActive: true,
        expiresAt: null,
      };
      const guest = (await store.list('/q/keys/')).entries.find(({ value }) => value.includes('"guest"'))!;
      const before = await refusedEntries(cluster.coordinators[0]);
      await store.transact(
        [],
        [
          { type: 'put', key: '/q/keys/99', value: JSON.stringify(record) },
          { type: 'put', key: '/q/keys/98', value: guest.value.replace(/\{.*/, JSON.stringify({ ...record, id: 98 })) },
          { type: 'put', key: '/q/keys/97', value: guest.value },
        ],
      );
      await eventually('they were seen', async () => (await refusedEntries(cluster.coordinators[0])) >= before + 3);
      expect(await codeWith(cluster, 'forged-key')).toBe(401);
      expect(await codeWith(cluster, guestKey)).toBe(200);
      expect(JSON.stringify(await cluster.data('GET', '/v1/admin/keys'))).not.toMatch(/"id":9[789]/);
      const lines = () => cluster.coordinators[0].output.match(/\/q\/keys\/99/g) ?? [];
      await eventually('it was told', () => lines().length > 0);
      expect(lines()).toHaveLength(1);
    } finally {
      await store.close();
    }
  });

  test('a node whose entry is overwritten registers again', async () => {
    const store = cluster.openBareStore();
    const key = `${NODES_PREFIX}node-0`;
    try {
      const { value } = (await store.get(key))!;
      await store.transact(
        [],
        [{ type: 'put', key, value: value.replace(/"address":"[^"]*"/, '"address":"127.0.0.1:1"') }],
      );
      await eventually(
        'its own entry is there',
        async () => (await store.get(key))?.value.includes(`127.0.0.1:${cluster.nodes[0].port}`) === true,
      );
      await cluster.settled();
      await answersAsEver();
    } finally {
      await store.close();
    }
  });

  /** Sealed, as an earlier entry of a node is that somebody kept: the seal alone would let it through. */
  async function meet(impostors: ImpostorNode[]): Promise<void> {
    const store = cluster.openStore();
    const keys = impostors.map((_, i) => `${NODES_PREFIX}impostor-${i}`);
    try {
      const common = {
        store: 's',
        incarnation: 'i',
        zone: '',
        pid: 0,
        startedAt: new Date().toISOString(),
        diskBytes: 1e12,
        freeBytes: 1e12,
      };
      const member = (i: number) => JSON.stringify({ id: `impostor-${i}`, address: impostors[i].address, ...common });
      await store.transact(
        [],
        keys.map((key, i) => ({ type: 'put' as const, key, value: member(i) })),
      );
      // Coordinators look after every node twice a second.
      await eventually('members have tried each of them again and again', () =>
        impostors.every(({ received }) => received.length >= 6),
      );
    } finally {
      await store.transact(
        [],
        keys.map((key) => ({ type: 'delete' as const, key })),
      );
      await store.close();
    }
  }

  /** Nothing that a member sent is the secret, or made with it. */
  function expectHarmless(impostor: ImpostorNode): void {
    const allowed: string[] = [
      FIELDS.version,
      FIELDS.name,
      FIELDS.address,
      FIELDS.nonce,
      FIELDS.program,
      FIELDS.objection,
    ];
    for (const call of impostor.received) {
      expect(call.path).toBe(membersDefinition.Hello.path);
      const fields = ImpostorNode.fieldsOf(call);
      expect(Object.keys(fields).filter((name) => !allowed.includes(name))).toEqual([]);
      expect(JSON.stringify(call.headers)).not.toContain(SECRET);
      expect(call.body.toString('latin1')).not.toContain(SECRET);
      // A nonce has 16 bytes; what is made with the secret has 32.
      for (const value of Object.values(fields)) expect(value).not.toMatch(/[\w+/-]{43}/);
    }
  }

  test('impostors are sent nothing of use, whatever they say of themselves', async () => {
    const real = `127.0.0.1:${cluster.nodes[1].port}`;
    const madeUp = {
      [FIELDS.name]: 'impostor',
      [FIELDS.nonce]: randomBytes(40).toString('base64'),
      [FIELDS.proof]: randomBytes(32).toString('base64'),
    };
    const answers: Parameters<typeof ImpostorNode.start>[0][] = [
      async () => madeUp,
      async () => ({}),
      // These ask a real node for the proofs, the second under that node's address.
      (headers) => relayedHello(headers, real),
      (headers) => relayedHello(headers, real, real),
    ];
    const impostors = await Promise.all(answers.map((answer) => ImpostorNode.start(answer)));
    try {
      await meet(impostors);
      impostors.forEach(expectHarmless);
    } finally {
      await Promise.all(impostors.map((impostor) => impostor.close()));
    }
    await answersAsEver();
  });

  test('a member with another secret ends with a line that says why, and changes nothing', async () => {
    const store = cluster.openBareStore();
    try {
      const entriesOf = async (): Promise<string[]> => (await store.list('/q/keys/')).entries.map(({ value }) => value);
      const before = await entriesOf();
      const strangers = [
        await cluster.addCoordinator({ CLUSTER_SECRET: NEW_SECRET }),
        await cluster.addNode({ CLUSTER_SECRET: NEW_SECRET }),
      ];
      for (const stranger of strangers) stranger.spawn();
      for (const stranger of strangers) {
        expect(await stranger.ended()).not.toBe(0);
        expect(stranger.output).toContain('CLUSTER_SECRET is not that of this cluster');
      }
      cluster.coordinators.pop();
      cluster.nodes.pop();
      expect(await entriesOf()).toEqual(before);
    } finally {
      await store.close();
    }
  });
});

describe('a cluster that is brought forward', () => {
  let cluster: ClusterProcesses;
  beforeAll(async () => {
    cluster = await ClusterProcesses.start({ nodes: 2, coordinators: 1, replicas: 2, shards: 1 });
    await cluster.data('POST', '/v1/collections', { name: 'c', dim: 2 });
    await cluster.data('POST', '/v1/collections/c/upsert', { external_id: 'x', vector: [1, 2] });
  });
  afterAll(() => cluster?.destroy());

  const members = (): MemberProcess[] => [...cluster.nodes, ...cluster.coordinators];
  const answers = (): Promise<void> =>
    eventually(
      'it answers',
      async () =>
        (await cluster.call('POST', '/v1/collections/c/search', { vector: [1, 2], k: 1 })).data?.results[0]
          ?.external_id === 'x',
    );

  test('from an earlier version: only when an operator says so, with all that it held', async () => {
    const { key } = await cluster.data('POST', '/v1/admin/keys', { name: 'guest', role: 'readonly' });
    for (const member of members().reverse()) await member.stop();
    const store = cluster.openBareStore();
    try {
      const { entries } = await store.list(STATE_PREFIX);
      const plain = entries
        .filter((entry) => !isOfSession(entry.key))
        .map((entry) => ({ type: 'put' as const, key: entry.key, value: entry.value.replace(/^s1\..{43}\./, '') }));
      await store.transact([], plain);
      await eventually('the sessions are over', async () =>
        (await store.list(STATE_PREFIX)).entries.every((entry) => !isOfSession(entry.key)),
      );

      const unasked = [cluster.nodes[0], cluster.coordinators[0]];
      for (const member of unasked) member.spawn();
      for (const member of unasked) {
        expect(await member.ended()).not.toBe(0);
        expect(member.output).toContain('CLUSTER_SEALS=adopt');
      }

      await Promise.all(members().map((member) => member.start({ CLUSTER_SEALS: 'adopt' })));
      await answers();
      expect(await codeWith(cluster, key)).toBe(200);
      await eventually('every entry has a seal', async () =>
        (await store.list(STATE_PREFIX)).entries.every(({ value }) => value.startsWith('s1.')),
      );
      expect(await store.get(CONTROLLER_PATH)).not.toBeNull();

      for (const member of members()) {
        await member.stop();
        await member.start();
      }
      await answers();
      expect(await codeWith(cluster, key)).toBe(200);
    } finally {
      await store.close();
    }
  });

  test('to another secret, member by member, and answers all along', async () => {
    const oldEntries = async (): Promise<string[]> => {
      const store = cluster.openStore();
      try {
        return (await store.list(STATE_PREFIX)).entries.map(({ key }) => key);
      } finally {
        await store.close();
      }
    };
    const steps: Record<string, string>[] = [
      { CLUSTER_SECRET: SECRET, CLUSTER_SECRET_OTHER: NEW_SECRET },
      { CLUSTER_SECRET: NEW_SECRET, CLUSTER_SECRET_OTHER: SECRET },
      { CLUSTER_SECRET: NEW_SECRET },
    ];
    for (const environment of steps) {
      // Nodes last: they change assignments under the secret that coordinators have given up.
      for (const member of members().reverse()) {
        await member.stop();
        await member.start(environment);
        await answers();
        await cluster.settled();
      }
      if (environment.CLUSTER_SECRET === NEW_SECRET)
        await eventually('no entry is of the old secret', async () =>
          (await oldEntries()).every((key) => isOfSession(key)),
        );
    }
    expect(await oldEntries()).toEqual([]);
  });
});
