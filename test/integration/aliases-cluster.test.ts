import { eventually } from '../support/eventually';
import { ClusterProcesses } from '../support/processes/cluster-processes';
import { runSeed, seededRandom } from '../support/values/random';

/** Aliases through two coordinators: no request that begins after a change was answered sees what was before. */

const COLLECTIONS = 4;
const SWITCHES = 60;
const SEARCHERS = 6;

describe('two coordinators', () => {
  let cluster: ClusterProcesses;
  beforeAll(async () => {
    cluster = await ClusterProcesses.start({ nodes: 1, coordinators: 2, replicas: 1, threads: 2 });
    for (let i = 0; i < COLLECTIONS; i += 1) {
      await cluster.makeCollection(`c${i}`);
      const item = { external_id: `of c${i}`, vector: [1, 2] };
      await cluster.data('POST', `/v1/collections/c${i}/upsert`, item);
    }
  });
  afterAll(() => cluster?.destroy());

  const change = (actions: object[], coordinator: number): Promise<unknown> =>
    cluster.data('POST', '/v1/aliases', { actions }, coordinator);
  /** The number of the collection that a search by the alias finds. */
  const found = async (alias: string, coordinator: number): Promise<number> => {
    const body = { vector: [1, 2], k: 1 };
    const { results } = await cluster.data('POST', `/v1/collections/${alias}/search`, body, coordinator);
    return Number(results[0].external_id.slice('of c'.length));
  };

  test('no search that begins after a switch was answered finds the former collection', async () => {
    const random = seededRandom(runSeed('aliases-cluster'));
    await change([{ create: { alias: 'moving', collection: 'c0' } }], 0);
    /** What it stands for after each change; those up to `answered` were answered, and `begun` may be in force. */
    const history = [0];
    let answered = 0;
    let isOver = false;
    let searches = 0;
    const searchers = Array.from({ length: SEARCHERS }, async (_, i) => {
      while (!isOver) {
        const from = answered;
        const one = await found('moving', i % 2);
        const allowed = history.slice(from);
        expect({ from, allowed }).toEqual({ from, allowed: expect.arrayContaining([one]) });
        searches += 1;
      }
    });
    for (let i = 0; i < SWITCHES; i += 1) {
      const next = (history.at(-1)! + 1 + Math.floor(random() * (COLLECTIONS - 1))) % COLLECTIONS;
      history.push(next);
      await change([{ switch: { alias: 'moving', collection: `c${next}` } }], i % 2);
      answered = history.length - 1;
      expect(await found('moving', (i + 1) % 2)).toBe(next);
      if (i % 10 === 0) {
        const seen = searches;
        await eventually('searches go on', () => searches > seen);
      }
    }
    isOver = true;
    await Promise.all(searchers);
    expect(searches).toBeGreaterThan(SEARCHERS);
    await change([{ delete: { alias: 'moving' } }], 0);
    for (const coordinator of [0, 1]) {
      const { error } = await cluster.call('GET', '/v1/collections/moving', undefined, coordinator);
      expect(error?.code).toBe(404);
    }
  });

  test('a coordinator that stood still meanwhile does not answer by what it knew', async () => {
    await change([{ create: { alias: 'still', collection: 'c0' } }], 0);
    expect(await found('still', 1)).toBe(0);
    const { pid } = cluster.coordinators[1];
    process.kill(pid, 'SIGSTOP');
    try {
      // Waits until it is no member any more.
      await change([{ switch: { alias: 'still', collection: 'c1' } }], 0);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    expect(await found('still', 1)).toBe(1);
    await cluster.allUp();
    await change([{ delete: { alias: 'still' } }], 0);
  });

  test('while etcd is away, aliases are what they were, and nothing changes them', async () => {
    await change([{ create: { alias: 'lasting', collection: 'c2' } }], 1);
    await cluster.etcd.kill();
    // Long enough for sessions to be over: that is when the coordinators ask each other.
    const untilMs = performance.now() + 6_000;
    do for (const coordinator of [0, 1]) expect(await found('lasting', coordinator)).toBe(2);
    while (performance.now() < untilMs);
    await cluster.etcd.start();
    await cluster.allUp();
    await eventually('it can be moved again', async () => {
      const body = { actions: [{ switch: { alias: 'lasting', collection: 'c3' } }] };
      return (await cluster.call('POST', '/v1/aliases', body, 0)).error === null;
    });
    for (const coordinator of [0, 1]) expect(await found('lasting', coordinator)).toBe(3);
    await change([{ delete: { alias: 'lasting' } }], 0);
  });
});
