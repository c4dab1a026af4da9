import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runCommand } from '../../../support/processes/command-run';

/** What cli/commands/job-commands.ts asks, and says. */

const JOB = {
  ...{
    id: 'verify-1',
    kind: 'verify',
    state: 'running',
    step: null,
    collection: null,
    subject: '20260101T000000Z-00000000',
    progress: 0.25,
    done: 1,
    total: 4,
    unit: 'objects',
  },
  ...{
    per_second: 1,
    seconds_left: 3,
    created_at: '2026-01-01T00:00:00.000Z',
    started_at: null,
    ended_at: null,
    error: null,
    waits_for: null,
    result: null,
  },
};

let answers: unknown[] = [];
let asked: string[] = [];
const server = createServer((request, response) => {
  asked.push(`${request.method} ${request.url}`);
  const data = answers.length > 1 ? answers.shift() : answers[0];
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ status: 'success', data, error: null }));
});

beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise((resolve) => server.close(resolve)));

const run = (words: string[], ...given: unknown[]) => {
  answers = given;
  asked = [];
  return runCommand(['jobs', ...words], {
    QUIVER_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    QUIVER_API_KEY: 'x',
  });
};

test('all pages are listed', async () => {
  const { exitCode, output } = await run(
    ['list', '--kind', 'verify'],
    { jobs: [JOB], next_cursor: 'next' },
    { jobs: [{ ...JOB, id: 'verify-0', state: 'done', progress: 1 }], next_cursor: null },
  );
  expect(exitCode).toBe(0);
  expect(output).toMatch(/verify-1 +running +25 %[^]*verify-0 +done +100 %/);
  expect(asked).toEqual(['GET /v1/jobs?kind=verify&limit=1000', 'GET /v1/jobs?kind=verify&limit=1000&cursor=next']);
});

test('one is shown with what it is at', async () => {
  const { output } = await run(['show', 'verify-1'], { ...JOB, waits_for: 'the target' });
  expect(output).toBe(
    'verify-1: running, 25 %\nverify: 20260101T000000Z-00000000\n1 of 4 objects, 3 s left\nwaits for: the target\n',
  );
});

test('to wait ends with the job, and with an error when it failed', async () => {
  const done = { ...JOB, state: 'done', progress: 1, done: 4, seconds_left: null, result: { damaged: [] } };
  expect(await run(['wait', 'verify-1', '--json'], JOB, done)).toMatchObject({
    exitCode: 0,
    output: expect.stringContaining('"damaged"'),
  });
  const failed = await run(['wait', 'verify-1'], { ...JOB, state: 'failed', error: 'it is gone' });
  expect(failed.exitCode).not.toBe(0);
  expect(failed.messages).toContain('job verify-1 failed: it is gone');
});

test.each([
  ['cancel', 'DELETE /v1/jobs/verify-1'],
  ['pause', 'POST /v1/jobs/verify-1/pause'],
  ['resume', 'POST /v1/jobs/verify-1/resume'],
])('%s asks for it once', async (verb, call) => {
  expect((await run([verb, 'verify-1'], { ...JOB, state: 'paused' })).output).toContain('verify-1: paused');
  expect(asked).toEqual([call]);
});
