import { type ChildProcess, spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';

/** Dify's External Knowledge API over a service, by requests as Dify's documentation has them. */

const PROGRAM = join(resolve(__dirname, '../..'), 'integrations/dify/retrieval.mjs');

let server: EmbeddedProcess;
let adapter: ChildProcess;
let address = '';

beforeAll(async () => {
  server = new EmbeddedProcess();
  await server.start();
  await server.data('POST', '/v1/collections', { name: 'manuals', dim: 64 });
  await server.data('POST', '/v1/collections/manuals/bulk_upsert', {
    items: [
      { external_id: 'm1', text: 'The pump is cleaned every spring', metadata: { title: 'Pumps', year: 2021 } },
      { external_id: 'm2', text: 'The valve is opened by hand', metadata: { source: 'valves.md', year: 2023 } },
      { external_id: 'm3', text: 'Nobody opens the pump while it runs', metadata: { year: 2024 } },
    ],
  });
  adapter = spawn(process.execPath, [PROGRAM], {
    env: { PATH: process.env.PATH ?? '', QUIVER_URL: server.baseUrl, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  adapter.stdout?.on('data', (chunk) => (said += String(chunk)));
  await eventually('it says where it is', () => /^POST \S+\n/.test(said));
  address = /^POST (\S+)/.exec(said)?.[1] ?? '';
});
afterAll(async () => {
  adapter?.kill();
  await server.destroy();
});

async function retrieve(body: object | string, key: string | null = server.apiKey): Promise<[number, any]> {
  const answer = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key !== null && { authorization: `Bearer ${key}` }) },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return [answer.status, await answer.json()];
}

const question = {
  knowledge_id: 'manuals',
  query: 'is the pump cleaned every spring?',
  retrieval_setting: { top_k: 2, score_threshold: 0 },
};

test('texts are found with a score, a title and metadata that is an object', async () => {
  const [status, { records }] = await retrieve(question);
  expect(status).toBe(200);
  expect(records).toHaveLength(2);
  const { content, score, title, metadata } = records[0];
  expect({ content, title, metadata }).toEqual({
    content: 'The pump is cleaned every spring',
    title: 'Pumps',
    metadata: { external_id: 'm1', title: 'Pumps', year: 2021 },
  });
  expect(score).toBeGreaterThan(records[1].score);
  const [, all] = await retrieve({ ...question, retrieval_setting: { top_k: 3, score_threshold: 0 } });
  expect(all.records.map((one: { title: string }) => one.title).sort()).toEqual(['Pumps', 'm3', 'valves.md']);
});

test('a threshold and conditions leave out what does not meet them', async () => {
  const [, { records }] = await retrieve({ ...question, retrieval_setting: { top_k: 3, score_threshold: 0.999 } });
  expect(records).toEqual([]);
  const titles = async (logical_operator: string, conditions: object[]): Promise<string[]> => {
    const [status, found] = await retrieve({ ...question, metadata_condition: { logical_operator, conditions } });
    expect(status).toBe(200);
    return found.records.map((one: { title: string }) => one.title).sort();
  };
  const late = { name: ['year'], comparison_operator: '≥', value: '2023' };
  const named = { name: ['title'], comparison_operator: 'is', value: 'Pumps' };
  expect(await titles('and', [late])).toEqual(['m3', 'valves.md']);
  expect(await titles('and', [late, named])).toEqual([]);
  expect(await titles('or', [named, { name: ['year'], comparison_operator: '=', value: 2024 }])).toEqual([
    'Pumps',
    'm3',
  ]);
  expect(await titles('and', [{ name: ['title', 'source'], comparison_operator: 'contains', value: 'valve' }])).toEqual(
    ['valves.md'],
  );
});

test('what is wrong is told by a status and a code', async () => {
  expect(await retrieve(question, null)).toEqual([403, { error_code: 1001, error_msg: expect.any(String) }]);
  expect(await retrieve(question, 'another')).toEqual([401, { error_code: 1002, error_msg: expect.any(String) }]);
  expect(await retrieve({ ...question, knowledge_id: 'manual' })).toEqual([
    404,
    { error_code: 2001, error_msg: 'collection "manual" does not exist; did you mean "manuals"?' },
  ]);
  const conditions = [{ name: ['title'], comparison_operator: 'end with', value: 's' }];
  const [status, { error_msg: said }] = await retrieve({ ...question, metadata_condition: { conditions } });
  expect([status, said]).toEqual([500, 'the operator "end with" is not supported']);
  expect((await retrieve('{'))[0]).toBe(500);
  expect((await fetch(address.replace('/retrieval', '/other'), { method: 'POST' })).status).toBe(404);
});
