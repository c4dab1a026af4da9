import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runCommand } from '../../../support/processes/command-run';

/** What cli/commands/backup-commands.ts says of backups that lack something, or that the service has not sealed. */

const BASE = {
  target: 'file:/x',
  started_at: '2026-01-01T00:00:00.000Z',
  ended_at: '2026-01-01T00:00:01.000Z',
  error: null,
  progress: 1,
  copied_bytes: 1,
  total_bytes: 1,
  items: 3,
  verification: null,
};
const WHOLE = {
  ...BASE,
  id: 'whole',
  state: 'done',
  sealed: true,
  warnings: [],
  left_out: [],
  collections: [{ name: 'good' }, { name: 'bad' }],
};
const PARTIAL = {
  ...{ ...WHOLE, id: 'partial', collections: [{ name: 'good' }] },
  ...{
    left_out: [{ name: 'bad', reason: 'a shard is damaged' }],
    warnings: ['collection "bad" is not in it: a shard is damaged'],
  },
};
/** As a service before this version answers. */
const EARLIER = { ...BASE, id: 'earlier', state: 'done', collections: [{ name: 'good' }] };

let answer: unknown = null;
const bodies: unknown[] = [];
const server = createServer((request: IncomingMessage, response) => {
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    if (pieces.length > 0) bodies.push(JSON.parse(Buffer.concat(pieces).toString()));
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ status: 'success', data: answer, error: null }));
  });
});

beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise((resolve) => server.close(resolve)));

const run = (words: string[], given: unknown) => {
  answer = given;
  bodies.length = 0;
  return runCommand(words, {
    QUIVER_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    QUIVER_API_KEY: 'x',
  });
};

test('a backup that has everything is answered by its id', async () => {
  expect(await run(['backup', 'create'], WHOLE)).toMatchObject({ exitCode: 0, output: 'whole\n' });
  expect(await run(['backup', 'create'], EARLIER)).toMatchObject({ exitCode: 0, output: 'earlier\n' });
});

test.each([
  ['as text', []],
  ['as JSON', ['--json']],
])('one that lacks a collection is answered, and ends with an error that names it, %s', async (_, flags) => {
  const { exitCode, output, messages } = await run(['backup', 'create', ...flags], PARTIAL);
  expect(exitCode).not.toBe(0);
  expect(output).toContain('partial');
  expect(messages).toContain('collection "bad" is not in it: a shard is damaged');
});

test('the list says what is sealed, and what is left out', async () => {
  const { output } = await run(['backup', 'list'], { backups: [WHOLE, { ...PARTIAL, sealed: false }, EARLIER] });
  const rows = output.split('\n').map((line) => line.trim().split(/ {2,}/));
  expect(rows[0]).toEqual(['id', 'state', 'sealed', 'started', 'items', 'size', 'collections', 'left out']);
  expect(rows[1].slice(0, 3)).toEqual(['whole', 'done', 'yes']);
  expect([rows[2].slice(0, 3), rows[2].slice(-2)]).toEqual([
    ['partial', 'done', 'no'],
    ['good', 'bad'],
  ]);
  expect(rows[3].slice(0, 2)).toEqual(['earlier', 'done']);
});

test('--unsealed asks for what is taken on trust, and nothing else does', async () => {
  const done = {
    id: 'r',
    state: 'done',
    error: null,
    progress: 1,
    warnings: ['these keys were taken on trust'],
    collections: [{ name: 'good' }],
  };
  expect((await run(['restore', 'partial', '--keys', '--unsealed'], done)).messages).toContain('taken on trust');
  expect(bodies).toMatchObject([{ keys: true, unsealed: true }]);
  await run(['restore', 'partial', '--keys'], done);
  expect(bodies).toEqual([expect.not.objectContaining({ unsealed: expect.anything() })]);
});
