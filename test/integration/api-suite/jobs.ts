import { dataOf, errorOf } from '../../support/targets/api-client';
import { eventually } from '../../support/eventually';
import type { SuiteContext } from '../api-suite';

/** Long work as one list. */
export function jobsSuite(context: SuiteContext): void {
  const jobOf = async (kind: string, collection: string): Promise<any> => {
    const { jobs } = dataOf(await context.api.get(`/v1/jobs?kind=${kind}&limit=1000`));
    return jobs.find((job: any) => job.collection === collection);
  };
  const ended = async (id: string): Promise<any> => {
    let job: any;
    const isOver = async (): Promise<boolean> => {
      job = dataOf(await context.api.get(`/v1/jobs/${id}`));
      return ['done', 'failed', 'cancelled'].includes(job.state);
    };
    await eventually(`job ${id} is over`, isOver);
    return job;
  };

  describe('jobs', () => {
    test('a reshard is one, from its beginning to after its end', async () => {
      const { api } = context;
      const name = await context.collection({ shards: 1 });
      dataOf(await api.post(`/v1/collections/${name}/upsert`, { external_id: 'a', vector: [1, 2, 3] }));
      dataOf(await api.post(`/v1/collections/${name}/reshard`, { shards: 2 }));
      const begun = await jobOf('reshard', name);
      expect(Object.keys(begun).sort()).toEqual(
        [
          'collection',
          'created_at',
          'done',
          'ended_at',
          'error',
          'id',
          'kind',
          'per_second',
          'progress',
          'result',
          'seconds_left',
          'started_at',
          'state',
          'step',
          'subject',
          'total',
          'unit',
          'waits_for',
        ].sort(),
      );
      expect(begun).toMatchObject({
        kind: 'reshard',
        collection: name,
        subject: '1 to 2 shards',
        unit: 'items',
        error: null,
      });
      // 409: it is over already.
      expect([400, 409]).toContain((await api.post(`/v1/jobs/${begun.id}/pause`)).json?.error?.code);
      expect(await ended(begun.id)).toMatchObject({
        id: begun.id,
        state: 'done',
        progress: 1,
        step: null,
        ended_at: expect.stringMatching(/Z$/),
      });
      expect(dataOf(await api.get(`/v1/collections/${name}`)).shards).toBe(2);
      // Once it is over, it is listed as that, once, and stays as it is.
      const { jobs } = dataOf(await api.get('/v1/jobs?state=done&limit=1000'));
      expect(jobs.filter(({ id }: any) => id === begun.id)).toHaveLength(1);
      for (const call of [api.delete(`/v1/jobs/${begun.id}`), api.post(`/v1/jobs/${begun.id}/resume`)]) {
        expect(errorOf(await call, 409)).toBe(`job ${begun.id} is over: it is done`);
      }
    });

    test('a purge and an optimization are jobs of their collection, which their own answers show', async () => {
      const { api } = context;
      const name = await context.collection({ shards: 2 });
      for (const external_id of ['a', 'b', 'c'])
        dataOf(await api.post(`/v1/collections/${name}/upsert`, { external_id, vector: [1, 2, 3] }));
      dataOf(await api.delete(`/v1/collections/${name}/delete/a`));
      const path = `/v1/collections/${name}/purge`;
      expect(dataOf(await api.get(path))).toMatchObject({ collection: name, state: 'none', bytes_reclaimed: 0 });
      expect(await jobOf('purge', name)).toBeUndefined();
      expect(dataOf(await api.post(path))).toMatchObject({ collection: name, state: 'running' });
      const purge = await ended((await jobOf('purge', name)).id);
      expect(purge).toMatchObject({ state: 'done', progress: 1, unit: 'replicas', total: purge.done });
      const shown = dataOf(await api.get(path));
      expect(shown).toMatchObject({ state: 'done', bytes_reclaimed: purge.result.bytes_reclaimed });
      const replicas = shown.shards.flatMap((shard: any) => shard.replicas);
      expect(replicas).toHaveLength(purge.result.replicas);
      expect(new Set(replicas.map(({ state }: any) => state))).toEqual(new Set(['done']));
      expect((await api.post(`/v1/jobs/${purge.id}/pause`)).json?.error?.code).toBe(409);

      expect(dataOf(await api.post(`/v1/collections/${name}/optimize`))).toMatchObject({ name, vector_count: 2 });
      const optimization = await ended((await jobOf('optimize', name)).id);
      expect(optimization).toMatchObject({ state: 'done', collection: name, unit: 'rows', result: { rows: 2 } });
    });

    test('one that is given up is cancelled', async () => {
      const { api } = context;
      const name = await context.collection({ shards: 1 });
      dataOf(await api.post(`/v1/collections/${name}/reshard`, { shards: 3 }));
      const { id } = await jobOf('reshard', name);
      const answer = await api.delete(`/v1/jobs/${id}`);
      // It may be too late by then.
      const isLate = answer.json?.error !== null;
      const job = await ended(id);
      expect(job.state).toBe(isLate ? 'done' : 'cancelled');
      expect(dataOf(await api.get(`/v1/collections/${name}`)).shards).toBe(isLate ? 3 : 1);
    });

    test('who may not know of one learns nothing', async () => {
      const { api } = context;
      const name = await context.collection({ shards: 1 });
      dataOf(await api.post(`/v1/collections/${name}/reshard`, { shards: 2 }));
      const { id } = await jobOf('reshard', name);
      const { key } = dataOf(await api.post('/v1/admin/keys', { name: 'writer', role: 'readwrite' }));
      expect(dataOf(await api.get('/v1/jobs?kind=reshard', { key })).jobs).toEqual([]);
      for (const call of [api.get(`/v1/jobs/${id}`, { key }), api.delete(`/v1/jobs/${id}`, { key })])
        expect(errorOf(await call, 404)).toBe(`job "${id}" does not exist`);
      await ended(id);
    });

    test('pages follow each other by a cursor, and none is missing', async () => {
      const { api } = context;
      // A move leaves nothing when it is over, and one may be under way.
      const idsOf = ({ jobs }: any): string[] =>
        jobs.filter(({ kind }: any) => kind !== 'move').map(({ id }: any) => id);
      const whole = idsOf(dataOf(await api.get('/v1/jobs?limit=1000')));
      expect(whole.length).toBeGreaterThan(2);
      const seen: string[] = [];
      let path: string | null = '/v1/jobs?limit=2';
      while (path !== null) {
        const page: any = dataOf(await api.get(path));
        seen.push(...idsOf(page));
        path = page.next_cursor === null ? null : `/v1/jobs?limit=2&cursor=${page.next_cursor}`;
      }
      expect(seen).toEqual(whole);
    });

    test.each([
      ['/v1/jobs?state=lost', 400],
      ['/v1/jobs?limit=0', 400],
      ['/v1/jobs?cursor=x', 400],
      ['/v1/jobs/none', 404],
    ])('%s is refused with %i', async (path, code) => {
      expect((await context.api.get(path)).json?.error?.code).toBe(code);
    });
  });
}
