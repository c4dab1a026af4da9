import { gzipSync } from 'node:zlib';
import { ApiClient, dataOf, errorOf } from '../../support/targets/api-client';
import type { SuiteContext } from '../api-suite';

/** The envelope, the headers and the document that describe every endpoint. */
export function protocolSuite(context: SuiteContext): void {
  describe('protocol', () => {
    test('GET / needs no key and says where to go on', async () => {
      const data = dataOf(await context.api.get('/', { key: null }));
      expect(data).toEqual({ message: expect.any(String), docs: '/docs', ui: '/ui', endpoints: expect.any(Array) });
      expect(data.endpoints).toContainEqual({
        method: 'POST',
        path: '/v1/collections/{name}/search',
        summary: expect.any(String),
      });
    });

    test('GET /metrics needs no key and is Prometheus text', async () => {
      const answer = await context.api.get('/metrics', { key: null });
      expect(answer.httpStatus).toBe(200);
      expect(answer.headers['content-type']).toMatch(/^text\/plain/);
      expect(answer.text).toContain('vectordb_collections_total');
    });

    test('an unknown path, a wrong method and a trailing slash are a 404 in the envelope', async () => {
      errorOf(await context.api.get('/v1/nothing'), 404);
      errorOf(await context.api.call({ method: 'PUT', path: '/v1/collections' }), 404);
      errorOf(await context.api.get('/v1/collections/'), 404);
      errorOf(await context.api.get('/V1/collections'), 404);
      errorOf(await context.api.get('/favicon.ico', { key: null }), 404);
      errorOf(await context.api.call({ method: 'OPTIONS', path: '/v1/collections' }), 404);
      errorOf(await context.api.call({ method: 'OPTIONS', path: '/docs/' }), 404);
    });

    test('a body that is not JSON, not UTF-8, not an object or not there is a 422', async () => {
      for (const path of ['/v1/collections', '/v1/collections/none/search']) {
        for (const body of [
          '{',
          '',
          'null',
          '[]',
          '"text"',
          '12',
          '{"a":1}}',
          Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]),
        ]) {
          errorOf(await context.api.post(path, body), 422);
        }
        errorOf(await context.api.call({ method: 'POST', path }), 422);
      }
    });

    test('malformed percent-encoding is a 400', async () => {
      for (const path of [
        '/v1/collections/%ZZ',
        '/v1/collections/a/vectors/%E0%A4%A',
        '/v1/admin/keys/%',
        '/v1/collections/a/export?limit=%ZZ',
      ]) {
        errorOf(await context.api.get(path), 400);
      }
    });

    test('a query parameter given twice is a 400', async () => {
      errorOf(await context.api.get(`/v1/collections/${await context.empty()}/export?limit=1&limit=2`), 400);
    });

    test('a gzip body is taken, another encoding or a broken one is refused', async () => {
      const name = await context.collection();
      const path = `/v1/collections/${name}/upsert`;
      const body = gzipSync(JSON.stringify({ external_id: 'packed', vector: [1, 2, 3] }));
      expect(dataOf(await context.api.post(path, body, { headers: { 'content-encoding': 'gzip' } })).status).toBe(
        'inserted',
      );
      errorOf(await context.api.post(path, body, { headers: { 'content-encoding': 'br' } }), 400);
      errorOf(await context.api.post(path, '{}', { headers: { 'content-encoding': 'gzip' } }), 400);
    });

    test('every answer carries a request id: the caller’s if it is sane', async () => {
      const given = (id: string) => context.api.get('/v1/health', { headers: { 'x-request-id': id } });
      expect((await given('trace-17:a.b')).headers['x-request-id']).toBe('trace-17:a.b');
      for (const id of ['', 'a b', 'x'.repeat(500)]) {
        const answered = (await given(id)).headers['x-request-id'];
        expect(answered).toMatch(/^[0-9a-f-]{36}$/);
      }
      expect((await context.api.get('/v1/nothing', { key: null })).headers['x-request-id']).toBeTruthy();
    });

    test('/docs is the explorer, served from here alone', async () => {
      // For browsers, which speak HTTP/2 only over TLS.
      const api = new ApiClient({ ...context.target, http2: undefined });
      expect(await api.get('/docs', { key: null })).toMatchObject({ httpStatus: 301, headers: { location: '/docs/' } });
      const page = await api.get('/docs/', { key: null });
      expect(page.httpStatus).toBe(200);
      expect(page.headers['content-type']).toMatch(/^text\/html/);
      for (const asset of page.text.matchAll(/(?:src|href)="([^"]+)"/g)) {
        expect(asset[1]).toMatch(/^\.\//);
        expect((await api.get(`/docs/${asset[1].slice(2)}`, { key: null })).httpStatus).toBe(200);
      }
      expect((await api.get('/docs/swagger-ui-init.js', { key: null })).text).toContain('/openapi.json');
      for (const path of [
        '/docs/nothing',
        '/docs/package.json',
        '/docs/%2e%2e/package.json',
        '/docs/..%2f..%2fpackage.json',
      ]) {
        errorOf(await api.get(path, { key: null }), 404);
      }
      for (const [header, value] of [
        ['range', 'bytes=99999999-'],
        ['range', 'bytes=0-9'],
        ['if-match', '"x"'],
        ['if-unmodified-since', 'Thu, 01 Jan 1970 00:00:00 GMT'],
      ]) {
        expect(await api.get('/docs/swagger-ui.css', { key: null, headers: { [header]: value } })).toMatchObject({
          httpStatus: 200,
        });
      }
    });

    test('/openapi.json describes every endpoint that GET / lists, with references that resolve', async () => {
      const answer = await context.api.get('/openapi.json', { key: null });
      const document = answer.json as any;
      expect(document.openapi).toBe('3.1.0');
      expect(document.components.securitySchemes.ApiKey).toEqual({ type: 'apiKey', in: 'header', name: 'x-api-key' });
      const operations = Object.entries<any>(document.paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      );
      const listed = dataOf(await context.api.get('/')).endpoints.map(
        ({ method, path }: any) => `${method} ${path.replace('{collection_name}', '{name}')}`,
      );
      expect(operations.sort()).toEqual(listed.sort());
      for (const [reference] of answer.text.matchAll(/"#\/[^"]*"/g)) {
        const found = reference
          .slice(3, -1)
          .split('/')
          .reduce((node, step) => node?.[step], document);
        expect({ reference, found }).toEqual({ reference, found: expect.anything() });
      }
      for (const [id, schema] of Object.entries<any>(document.components.schemas)) {
        expect({ id, properties: schema.properties }).toEqual({ id, properties: expect.anything() });
      }
      const ids = Object.values<any>(document.paths).flatMap((methods) =>
        Object.values<any>(methods).map(({ operationId }) => operationId),
      );
      expect(new Set(ids).size).toBe(ids.length);
      for (const [path, methods] of Object.entries<any>(document.paths)) {
        const wanted = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
        for (const { parameters, responses } of Object.values<any>(methods)) {
          expect(parameters.filter((parameter: any) => parameter.in === 'path').map(({ name }: any) => name)).toEqual(
            wanted,
          );
          // The other is for who asks for real statuses.
          expect(Object.keys(responses)).toEqual(path === '/mcp' ? ['200'] : ['200', 'default']);
        }
      }
    });

    test('the document’s examples work as they stand', async () => {
      const document = (await context.api.get('/openapi.json')).json as any;
      const exampleOf = (path: string, method = 'post') =>
        document.paths[path][method].requestBody.content['application/json'].example;
      dataOf(await context.api.post('/v1/collections', exampleOf('/v1/collections')));
      const prefix = `/v1/collections/${exampleOf('/v1/collections').name}`;
      const steps = [
        'upsert',
        'bulk_upsert',
        'search',
        'hybrid_search',
        'rerank',
        'scroll',
        'vectors/fetch',
        'bulk_search',
        'delete_batch',
        'delete_by_filter',
      ];
      for (const step of steps) {
        const answer = await context.api.post(`${prefix}/${step}`, exampleOf(`/v1/collections/{name}/${step}`));
        expect({ step, error: answer.json?.error }).toEqual({ step, error: null });
      }
      dataOf(await context.api.post('/v1/query', exampleOf('/v1/query')));
      dataOf(await context.api.patch(prefix, exampleOf('/v1/collections/{name}', 'patch')));
      dataOf(await context.api.delete(prefix));
    });
  });
}
