import { readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { ApiClient, dataOf, errorOf } from '../support/targets/api-client';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';

/** Who did what, in a file of its own, by one thread and by several. */

test.each(['1', '2'])(
  'an embedded process that serves on %s threads records who did what, and never contents',
  async (threads) => {
    const server = new EmbeddedProcess({ environment: { HTTP_THREADS: threads, AUDIT_LOG_FAILURE: 'refuse' } });
    const path = join(server.dataDir, 'audit.jsonl');
    Object.assign((server as unknown as { environment: Record<string, string> }).environment, { AUDIT_LOG: path });
    const lines = (file = path): any[] =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line));
    try {
      await server.start();
      const api = new ApiClient({ baseUrl: server.baseUrl, adminKey: server.apiKey });
      dataOf(
        await api.post(
          '/v1/collections',
          { name: 'c', dim: 2, description: 'hidden-words' },
          { headers: { 'x-request-id': 'first' } },
        ),
      );
      dataOf(
        await api.post('/v1/collections/c/upsert', { external_id: 'hidden-id', vector: [1, 2], text: 'hidden-words' }),
      );
      const reader = dataOf(
        await api.post('/v1/admin/keys', { name: 'reader', role: 'readonly', collections: [{ name: 'c' }] }),
      );
      dataOf(await api.post('/v1/collections/c/search', { vector: [1, 2] }, { key: reader.key }));
      errorOf(
        await api.post('/v1/collections/c/upsert', { external_id: 'hidden-id', vector: [1, 2] }, { key: reader.key }),
        403,
      );
      errorOf(await api.get('/v1/collections/other/vectors/hidden-id', { key: reader.key }), 403);
      errorOf(await api.get('/v1/collections', { key: 'hidden-secret' }), 401);
      errorOf(await api.delete('/v1/admin/keys/99'), 404);
      await eventually('all of them are written', () => lines().length >= 7);
      const who = { key_id: 1, key_name: 'default', address: '127.0.0.1' };
      const other = { key_id: reader.id, key_name: 'reader' };
      expect(lines()).toMatchObject([
        {
          event: 'request',
          time: expect.stringMatching(/Z$/),
          request_id: 'first',
          ...who,
          method: 'POST',
          endpoint: '/v1/collections',
          collection: 'c',
          target: null,
          outcome: 'done',
          code: 200,
          ms: expect.any(Number),
        },
        { ...who, endpoint: '/v1/collections/{name}/upsert', collection: 'c', code: 200 },
        { ...who, endpoint: '/v1/admin/keys', collection: null, target: `key:${reader.id}`, code: 200 },
        { ...other, endpoint: '/v1/collections/{name}/upsert', collection: 'c', outcome: 'refused', code: 403 },
        { ...other, endpoint: '/v1/collections/{name}/vectors/{id}', collection: 'other', code: 403 },
        { key_id: null, key_name: null, endpoint: '/v1/collections', code: 401 },
        { ...who, method: 'DELETE', endpoint: '/v1/admin/keys/{id}', target: 'key:99', code: 404 },
      ]);
      expect(readFileSync(path, 'utf8')).not.toMatch(/hidden|qv_/);
      expect(readFileSync(path, 'utf8')).not.toContain(server.apiKey);

      renameSync(path, `${path}.moved`);
      process.kill(server.pid, 'SIGHUP');
      await eventually('another file is begun', async () => {
        dataOf(await api.patch('/v1/collections/c', { description: null }));
        return lines(`${path}.moved`).length >= 7 && readIfThere(path) !== '';
      });
      expect(await server.stop()).toBe(0);
    } finally {
      await server.destroy();
    }
  },
);

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
