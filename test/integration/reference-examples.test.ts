import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { missingModules, PYTHON_SOURCES, pythonProgram } from '../support/machines/python-packages';

/** The examples of the API reference, one for each endpoint and language, are run as the site shows them. */

const root = resolve(__dirname, '../..');
const run = promisify(execFile);

interface Operation {
  method: string;
  path: string;
  operation: { operationId: string };
}
interface Documented {
  method: string;
  template: string;
}
const { exampleOf, operationsOf } = require(join(root, 'site/reference.cjs')) as {
  exampleOf(one: Operation): Documented;
  operationsOf(document: object): Operation[];
};
const { asCurl, asPython, asTypeScript, PYTHON_HEAD, TYPESCRIPT_HEAD } = require(join(root, 'site/snippets.cjs')) as {
  asCurl(request: Documented): string;
  asPython(request: Documented): string;
  asTypeScript(request: Documented): string;
  PYTHON_HEAD: string;
  TYPESCRIPT_HEAD: string;
};

/** What is refused, and its code: jobs and backups that are not there, clusters, models; all else is a success. */
const REFUSED: Record<string, number> = {
  delete_admin_backups_id: 404,
  delete_admin_restores_id: 404,
  delete_collections_name_documents_document_id: 404,
  delete_collections_name_reshard: 404,
  delete_jobs_id: 404,
  get_admin_backups_id: 404,
  get_admin_restores_id: 404,
  get_collections_name_documents_document_id: 404,
  get_jobs_id: 404,
  post_admin_backups_id_verify: 404,
  post_admin_restore: 404,
  post_answer: 400,
  post_cluster_nodes_id_drain: 400,
  post_cluster_shards_collection_shard_adopt: 400,
  post_jobs_id_back: 404,
  post_jobs_id_pause: 404,
  post_jobs_id_resume: 404,
  post_jobs_id_switch: 404,
  post_rerank: 400,
  post_sign_in: 401,
};

/** What is there before each example but that which makes it: collections, two items, judged queries. */
const CLEARED = [
  ['DELETE', '/v1/collections/articles?force=true'],
  ['DELETE', '/v1/collections/books?force=true'],
  ['DELETE', '/v1/collections/colours?force=true'],
] as const;
const FILLED = [
  ['POST', '/v1/collections', { name: 'colours', dim: 4 }],
  ['POST', '/v1/collections', { name: 'articles', dim: 3 }],
  ['POST', '/v1/collections', { name: 'books', dim: 16 }],
  [
    'POST',
    '/v1/collections/articles/bulk_upsert',
    {
      items: [
        { external_id: 'a-1', text: 'long rivers', metadata: { topic: 'rivers', price: 3 } },
        { external_id: 'a-2', text: 'old lakes', metadata: { topic: 'lakes' } },
      ],
    },
  ],
  ['PUT', '/v1/collections/articles/judgements/rivers', [{ query: 'long rivers', relevant: { 'a-1': 2 } }]],
] as const;
const MAKES_IT = 'post_collections';

/** Whether an example ends what others need, or begins a job: it comes behind them, with all put back before it. */
function isDestructive({ method, path, operation }: Operation): boolean {
  return method === 'DELETE' || /\/(?:delete_|re(?:shard|embed)$)/.test(path) || operation.operationId === MAKES_IT;
}

type Preparation = readonly (readonly [method: string, path: string, body?: unknown])[];

let server: EmbeddedProcess;
let folder: string;
let examples: { id: string; curl: string; typescript: string; python: string; preparation: Preparation }[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-reference-'));
  server = new EmbeddedProcess({ environment: { BACKUP_TARGET: `file:${join(folder, 'backups')}` } });
  await server.start();
  // The key that examples name by its number.
  expect((await server.data('POST', '/v1/admin/keys', { name: 'second', role: 'readonly' })).id).toBe(2);
  const document = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as object;
  const operations = operationsOf(document);
  examples = [...operations]
    .sort((a, b) => Number(isDestructive(a)) - Number(isDestructive(b)))
    .map((one, i) => {
      const { operationId: id } = one.operation;
      const request = exampleOf(one);
      const isPrepared = i === 0 || isDestructive(one);
      return {
        id,
        curl: asCurl(request),
        typescript: asTypeScript(request),
        python: asPython(request),
        preparation: !isPrepared ? [] : id === MAKES_IT ? CLEARED : [...CLEARED, ...FILLED],
      };
    });
});
afterEach(async () => {
  await server.destroy();
  rmSync(folder, { recursive: true, force: true });
});

/** Codes by operation; 0 is a success. */
function expectOutcomes(outcomes: Record<string, number>): void {
  const wanted = Object.fromEntries(examples.map(({ id }) => [id, REFUSED[id] ?? 0]));
  expect(outcomes).toEqual(wanted);
}

/** What a program printed, a line for each operation. */
function outcomesIn(printed: string): Record<string, number> {
  return Object.fromEntries([...printed.matchAll(/^RESULT (\S+) (\d+)$/gm)].map(([, id, code]) => [id, Number(code)]));
}

const environment = (): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  QUIVER_URL: server.baseUrl,
  QUIVER_API_KEY: server.apiKey,
});

const withCurl = spawnSync('curl', ['--version']).status === 0 ? test : test.skip;

withCurl('with curl', async () => {
  writeFileSync(join(folder, 'terms.txt'), 'There is no warranty for the program.');
  const outcomes: Record<string, number> = {};
  for (const { id, curl, preparation } of examples) {
    for (const [method, path, body] of preparation) await server.call(method, path, body);
    const { stdout } = await run('bash', ['-c', curl], { cwd: folder, env: environment(), maxBuffer: 1 << 24 });
    const isEnvelope = /^\{"status":"(?:success|error)"/.test(stdout);
    outcomes[id] = isEnvelope ? ((JSON.parse(stdout) as { error: { code: number } | null }).error?.code ?? 0) : 0;
    expect({ id, length: stdout.length }).not.toEqual({ id, length: 0 });
  }
  expectOutcomes(outcomes);
});

test('with the TypeScript client', async () => {
  const installed = join(folder, 'node_modules/quiver-client');
  mkdirSync(installed, { recursive: true });
  copyFileSync(join(root, 'clients/typescript/package.json'), join(installed, 'package.json'));
  await run(process.execPath, [join(root, 'scripts/make/build-client.mjs'), join(installed, 'dist')]);
  const blocks = examples.map(({ id, typescript, preparation }) => {
    const words = [id, preparation].map((word) => JSON.stringify(word)).join(', ');
    return `await outcome(${words}, async () => {\n${typescript}\n});\n`;
  });
  writeFileSync(
    join(folder, 'examples.mjs'),
    `${TYPESCRIPT_HEAD}
async function outcome(id, preparation, example) {
  for (const [method, place, json] of preparation) {
    const [path, query] = place.split('?');
    await quiver.request({ method, path, query: query ? { force: true } : {}, json }).catch(() => {});
  }
  const code = await example().then(() => 0, (error) => error.code ?? console.error(error) ?? 999);
  console.log('RESULT', id, code);
}
${blocks.join('')}`,
  );
  const { stdout } = await run(process.execPath, ['examples.mjs'], {
    cwd: folder,
    env: environment(),
    maxBuffer: 1 << 26,
  });
  expectOutcomes(outcomesIn(stdout));
});

const withPython = missingModules(['httpx', 'anyio'])?.length === 0 ? test : test.skip;

withPython('with the Python client', async () => {
  writeFileSync(join(folder, 'examples.json'), JSON.stringify(examples));
  writeFileSync(
    join(folder, 'examples.py'),
    `import json
from quiver_client import ApiError
${PYTHON_HEAD}
for example in json.load(open("examples.json")):
    for method, path, *body in example["preparation"]:
        try:
            place, _, query = path.partition("?")
            quiver.request(method, place, query={"force": "true"} if query else None, body=body[0] if body else None)
        except ApiError:
            pass
    code = 0
    try:
        exec(example["python"], {"quiver": quiver})
    except ApiError as error:
        code = error.code
    except Exception as error:
        print(example["id"], repr(error))
        code = 999
    print("\\nRESULT", example["id"], code)
`,
  );
  const { stdout } = await run(pythonProgram(), ['-B', 'examples.py'], {
    cwd: folder,
    env: { ...environment(), PYTHONPATH: PYTHON_SOURCES },
    maxBuffer: 1 << 26,
  });
  expectOutcomes(outcomesIn(stdout));
});
