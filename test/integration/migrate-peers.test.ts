import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../support/processes/command-run';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { PeerServer, findChroma, findWeaviate } from '../support/servers/peer-server';
import { seededRandom } from '../support/values/random';

/**
 * `quiver migrate` from real servers, where this machine has them; CONTRIBUTING.md says how to get them. The same from
 * recorded answers is in migrate.test.ts, which runs everywhere.
 */

const chroma = findChroma();
const weaviate = findWeaviate();
const withChroma = chroma === null ? test.skip : test;
const withWeaviate = weaviate === null ? test.skip : test;
const missing = (command: string[] | null, what: string): string => (command === null ? ` (skipped: ${what})` : '');

const quiver = new EmbeddedProcess();
const peer = new PeerServer();
const folder = mkdtempSync(join(tmpdir(), 'quiver-migrate-'));

beforeAll(async () => {
  if (chroma !== null || weaviate !== null) await quiver.start();
});
afterAll(async () => {
  await quiver.destroy();
  await peer.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function migrate(from: string, address: string, ...words: string[]): Promise<any> {
  const path = join(folder, 'report.json');
  const { exitCode, messages } = await runCommand(
    ['migrate', '--from', from, address, '--report', path, '--rejects', folder, '--quiet', ...words],
    {
      QUIVER_URL: quiver.baseUrl,
      QUIVER_API_KEY: quiver.apiKey,
      XDG_STATE_HOME: folder,
    },
  );
  expect([exitCode, messages]).toEqual([0, expect.stringContaining('the report is also in')]);
  return JSON.parse(readFileSync(path, 'utf8'));
}

async function nearest(collection: string, vector: number[]): Promise<string[]> {
  const { results } = await quiver.data('POST', `/v1/collections/${collection}/search`, { vector, k: 10, exact: true });
  return results.map((hit: { external_id: string }) => hit.external_id);
}

/** Items as they are here; their vectors' shortest decimals as the float32 values that they stand for. */
async function stored(collection: string, ids: string[]): Promise<any[]> {
  const { vectors: found } = await quiver.data('POST', `/v1/collections/${collection}/vectors/fetch`, { ids });
  return found.map((item: any) => ({ ...item, vector: item.vector.map(Math.fround) }));
}

/** Vectors whose values are the same as float32 and as JSON. */
function vectors(count: number, dim: number, seed: number): number[][] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () =>
    Array.from({ length: dim }, () => Math.fround(Math.round(random() * 4096 - 2048) / 1024)),
  );
}

describe('quiver migrate from a real server', () => {
  withChroma(
    `Chroma: every item is here as it was there, with the same neighbours, for each metric${missing(chroma, 'no chroma on the path')}`,
    async () => {
      await peer.startChroma(chroma!);
      const database = '/api/v2/tenants/default_tenant/databases/default_database/collections';
      const all = vectors(700, 8, 1);
      const ids = all.map((_, i) => `item/${i}`);
      for (const space of ['cosine', 'l2', 'ip']) {
        const { id } = await peer.call('POST', database, {
          name: `of.${space}`,
          configuration: { hnsw: { space, ef_search: 500 } },
        });
        await peer.call('POST', `${database}/${id}/upsert`, {
          ids,
          embeddings: all,
          documents: ids.map((_, i) => (i % 3 === 0 ? null : `text ${i}`)),
          metadatas: ids.map((_, i) =>
            i % 5 === 0 ? null : { row: i, word: `w${i % 7}`, even: i % 2 === 0, half: i / 2 },
          ),
        });
      }
      const report = await migrate('chroma', peer.address, '--page-size', '150');
      expect(
        report.collections.map((one: any) => [one.to, one.metric, one.items_there, one.items_here, one.is_exact]),
      ).toEqual(['cosine', 'ip', 'l2'].map((space) => [`of_${space}`, space, 700, 700, true]));
      for (const space of ['cosine', 'l2', 'ip']) {
        const { id } = await peer.call('GET', `${database}/of.${space}`);
        const some = ids.filter((_, i) => i % 7 === 0);
        const there = await peer.call('POST', `${database}/${id}/get`, {
          ids: some,
          include: ['embeddings', 'documents', 'metadatas'],
        });
        const here = await stored(`of_${space}`, some);
        for (const { external_id, vector, metadata, text } of here) {
          const at = there.ids.indexOf(external_id);
          expect({ vector, metadata, text }).toEqual({
            vector: there.embeddings[at].map(Math.fround),
            metadata: there.metadatas[at] ?? {},
            text: there.documents[at],
          });
        }
        expect(here).toHaveLength(some.length);
        for (const query of vectors(5, 8, 2)) {
          const {
            ids: [found],
          } = await peer.call('POST', `${database}/${id}/query`, {
            query_embeddings: [query],
            n_results: 10,
            include: [],
          });
          expect([space, await nearest(`of_${space}`, query)]).toEqual([space, found]);
        }
      }
    },
  );

  withWeaviate(
    `Weaviate: classes, tenants and named vectors${missing(weaviate, 'no weaviate-server; see CONTRIBUTING.md')}`,
    async () => {
      const server = new PeerServer();
      try {
        await server.startWeaviate(weaviate!);
        const index = (distance: string): object => ({
          vectorizer: { none: {} },
          vectorIndexType: 'hnsw',
          vectorIndexConfig: { distance },
        });
        await server.call('POST', '/v1/schema', {
          class: 'Plain',
          vectorizer: 'none',
          vectorIndexConfig: { distance: 'l2-squared' },
          properties: [
            { name: 'row', dataType: ['int'] },
            { name: 'words', dataType: ['text[]'] },
          ],
        });
        await server.call('POST', '/v1/schema', {
          class: 'Named',
          vectorConfig: { a: index('cosine'), b: index('dot') },
          multiTenancyConfig: { enabled: true },
          properties: [{ name: 'row', dataType: ['int'] }],
        });
        await server.call('POST', '/v1/schema/Named/tenants', [{ name: 'red' }, { name: 'blue' }]);
        const [long, short] = [vectors(300, 8, 1), vectors(300, 3, 2)];
        const id = (i: number): string => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`;
        const objects = [
          ...long.map((vector, i) => ({
            class: 'Plain',
            id: id(i),
            vector,
            properties: { row: i, words: ['x', `w${i}`] },
          })),
          ...['red', 'blue'].flatMap((tenant) =>
            long.slice(0, tenant === 'red' ? 300 : 20).map((a, i) => ({
              class: 'Named',
              tenant,
              id: id(i),
              vectors: { a, b: short[i] },
              properties: { row: i },
            })),
          ),
        ];
        const answers = await server.call('POST', '/v1/batch/objects', { objects });
        expect(answers.filter(({ result }: any) => result.errors)).toEqual([]);

        const report = await migrate('weaviate', server.address, '--vector', '*', '--page-size', '100');
        expect(
          report.collections.map((one: any) => [
            one.to,
            one.metric,
            one.dim,
            one.items_there,
            one.items_here,
            one.is_exact,
          ]),
        ).toEqual([
          ['Named_blue-a', 'cosine', 8, 20, 20, true],
          ['Named_blue-b', 'ip', 3, 20, 20, true],
          ['Named_red-a', 'cosine', 8, 300, 300, true],
          ['Named_red-b', 'ip', 3, 300, 300, true],
          ['Plain', 'l2', 8, 300, 300, true],
        ]);
        expect(await stored('Plain', [id(7)])).toEqual([
          { external_id: id(7), vector: long[7], metadata: { row: 7, words: ['x', 'w7'] }, text: null },
        ]);
        expect(await stored('Named_red-b', [id(299)])).toEqual([
          { external_id: id(299), vector: short[299], metadata: { row: 299 }, text: null },
        ]);
        for (const query of vectors(5, 8, 3)) {
          const { data } = await server.call('POST', '/v1/graphql', {
            query: `{ Get { Plain(limit: 10, nearVector: {vector: ${JSON.stringify(query)}}) { _additional { id } } } }`,
          });
          expect(await nearest('Plain', query)).toEqual(data.Get.Plain.map((hit: any) => hit._additional.id));
        }
      } finally {
        await server.stop();
      }
    },
  );
});
