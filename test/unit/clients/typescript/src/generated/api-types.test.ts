import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { isDoneOnce } from '../../../../../../clients/typescript/src/idempotency';
import { QuiverClient } from '../../../../../../clients/typescript/src/index';
import { recordingFetch, success } from '../../../../../support/http/recording-fetch';
import { type PlainServer, startPlainServer } from '../../../../../support/servers/plain-server';

/**
 * The TypeScript client knows the service whole: its types (clients/typescript/src/generated/) are those of the OpenAPI
 * document, and each operation has a method.
 */

interface Operation {
  id: string;
  method: string;
  path: string;
}

const root = resolve(__dirname, '../../../../../..');
const { clientMethodsOf, clientTypes, collectionCalls, operationsOf } = require(
  resolve(root, 'scripts/make/client-types.cjs'),
) as {
  clientMethodsOf(document: object): { name: string }[];
  clientTypes(document: object): string;
  collectionCalls(document: object): string;
  operationsOf(document: object): Operation[];
};
const FOLDER = resolve(root, 'clients/typescript/src/generated');

let server: PlainServer;
let document: object;

beforeAll(async () => {
  server = await startPlainServer();
  document = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as object;
});
afterAll(() => server.stop());

test.each([
  ['api-types.ts', clientTypes],
  ['collection-calls.ts', collectionCalls],
])('%s is that of the OpenAPI document', (name, write) => {
  const file = resolve(FOLDER, name);
  const text = write(document);
  if (process.env.UPDATE === '1') writeFileSync(file, text);
  expect(readFileSync(file, 'utf8')).toBe(text);
});

test('the client has a method for each operation, and asks for none besides', async () => {
  const { fetch, calls } = recordingFetch(({ url }) =>
    url.pathname.endsWith('/export')
      ? new Response('{"status":"success","data":{"collection":"a b","vectors":[],"count":0},"error":null}')
      : success({
          ...(/scroll|fetch|jobs/.test(url.pathname) ? { vectors: [], next_cursor: null } : {}),
          results: [],
          keys: [],
          collections: [],
          deleted: [],
          backups: [],
          restorable: [],
          restores: [],
          jobs: [],
          documents: [],
          ...(url.pathname.endsWith('/documents') && { next_cursor: null }),
          state: 'done',
        }),
  );
  const client = new QuiverClient({ url: 'http://service', apiKey: 'key', fetch });
  const collection = client.collection('a/b');
  const { keys, cluster, backups, jobs, documents } = client;
  await client.serviceInfo();
  await client.metrics();
  await documents.add('a', { text: 'b', document_key: 'c' });
  for await (const document of documents.list('a')) expect(document).toBeUndefined();
  await documents.get('a', 'b');
  await documents.delete('a', 'b');
  await client.openApi();
  await client.createCollection({ name: 'a', dim: 2, metadata: 'disk' });
  await client.listCollections();
  await client.listAliases();
  await client.changeAliases([{ delete: { alias: 'a' } }]);
  await client.uploadDocument({ collection_name: 'a', file: 'text' });
  await client.query({ collection_name: 'a', query: 'what' });
  await client.health();
  await client.me();
  await client.answer({ collection_name: 'c', question: 'x' });
  await client.rerank({ query: 'q', documents: ['d'] });
  await client.signIn('token');
  await client.loadDemo();
  await client.activity();
  await collection.info();
  await collection.stats();
  await collection.purge();
  await collection.purgeState();
  await collection.update({ description: null });
  await collection.drop();
  await collection.optimize();
  await collection.setQuota({ items: 2 });
  await collection.reshard(2);
  await collection.cancelReshard();
  await collection.reembed({ model: 'local:builtin' });
  await collection.recallCheck();
  await collection.upsert({ external_id: 'x', vector: [1, 2] });
  await collection.bulkUpsert([{ external_id: 'x', vector: [1, 2] }]);
  await collection.delete('x/y');
  await collection.deleteBatch(['x']);
  await collection.deleteByFilter({ a: 1 });
  await collection.patch('x/y', { metadata: { a: null } });
  await collection.updateByFilter({ filters: { a: 1 }, set: { a: 2 } });
  await collection.get('x/y');
  await collection.fetch(['x']);
  await collection.scrollPage();
  for await (const _item of collection.export()) throw new Error('nothing is there');
  await collection.describe();
  await collection.sample();
  await collection.search({ vector: [1, 2] });
  await collection.bulkSearch([{ vector: [1, 2] }]);
  await collection.hybridSearch({ query_text: 'what' });
  await collection.rerank({ vector: [1, 2], candidates: ['x'] });
  await collection.recommend('x/y');
  await collection.count({ filters: { a: 1 } });
  await collection.analyse({ text: 'a' });
  await collection.similarity('x', 'y');
  await collection.why('x', { vector: [1, 2] });
  await collection.putJudgements('j', [{ query: 'what', relevant: { x: 1 } }]);
  await collection.listJudgements();
  await collection.getJudgements('j');
  await collection.evaluate({ name: 'j', variants: [{}] });
  await collection.deleteJudgements('j');
  for (const { name } of clientMethodsOf(document)) {
    const method = name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    await (collection as unknown as Record<string, (request: object) => Promise<unknown>>)[method]({});
  }
  await keys.create({ name: 'reader', role: 'readonly' });
  await keys.list();
  await keys.get(1);
  await keys.update(1, { is_active: false });
  await keys.delete(1);
  await keys.rotate(1);
  await keys.usage(1);
  await keys.usageSummary();
  await backups.create();
  await backups.list({ target: 'other' });
  await backups.get('b/1');
  await backups.verify('b/1');
  await backups.delete('b/1');
  await backups.restore({ backup: 'b/1' });
  await backups.restore({ until: '2026-07-01T12:00:00Z' });
  await backups.restorable();
  await backups.listRestores();
  await backups.restoreState('r/1');
  await backups.cancelRestore('r/1');
  for await (const _job of jobs.list({ state: 'done' })) throw new Error('nothing is there');
  await jobs.get('j/1');
  await jobs.wait('j/1');
  await jobs.cancel('j/1');
  await jobs.pause('j/1');
  await jobs.resume('j/1');
  await jobs.switch('j/1', { keep_hours: 1 });
  await jobs.back('j/1');
  await cluster.state();
  await cluster.drain('node/1');
  await cluster.undrain('node/1');
  await cluster.adopt('a/b', 0, 'node/1');

  // The path without parameters is the closest one: /keys/usage/summary is not a key's.
  const operations = operationsOf(document)
    .map(({ id, method, path }) => ({
      id,
      method,
      pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      parameters: path.split('{').length,
    }))
    .sort((a, b) => a.parameters - b.parameters);
  const operationOf = (method: string, path: string): string =>
    operations.find((operation) => operation.method === method.toLowerCase() && operation.pattern.test(path))?.id ??
    `${method} ${path}`;
  const called = calls.map(({ method, url }) => operationOf(method, url.pathname));
  expect([...new Set(called)].sort()).toEqual(operations.map(({ id }) => id).sort());
  expect(new Set(calls.map(({ headers }) => headers['x-api-key']))).toEqual(new Set(['key']));
});

test('the writes that get an Idempotency-Key are those that the service does once under one', () => {
  const { paths } = document as { paths: Record<string, Record<string, { parameters?: { name?: string }[] }>> };
  const isWrong = (path: string, method: string): boolean => {
    const isOnce = paths[path][method].parameters?.some(({ name }) => name === 'Idempotency-Key') === true;
    return isDoneOnce(method.toUpperCase(), path.replaceAll(/\{\w+\}/g, 'x')) !== isOnce;
  };
  const wrong = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => isWrong(path, method))
      .map((method) => `${method} ${path}`),
  );
  expect(wrong).toEqual([]);
});
