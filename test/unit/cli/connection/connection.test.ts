import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runCommand } from '../../../support/processes/command-run';

/** What a command says of the service's warnings: cli/connection/connection.ts. */

let warnings: string[] = [];
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    response.setHeader('content-type', 'application/json').end(
      JSON.stringify({
        status: 'success',
        data: { results: [], vectors: [], total_count: 0, k: 1, offset: 0 },
        error: null,
        warnings,
      }),
    );
  });
});
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise((resolve) => server.close(resolve)));

test('each kind is told once, on standard error, and results are as they were', async () => {
  warnings = [
    'filters: no item has the field "yaer"; did you mean "year"?',
    'items[1], items[2] are long',
    'items[3] are long',
  ];
  const { port } = server.address() as AddressInfo;
  const environment = { QUIVER_URL: `http://127.0.0.1:${port}`, QUIVER_API_KEY: 'some-key-1' };
  const words = ['search', 'books', 'a text', '--filter', '{"yaer":1}', '--json'];
  const warned = await runCommand(words, environment);
  warnings = [];
  const quiet = await runCommand(words, environment);
  expect(warned.messages).toBe(
    'warning: filters: no item has the field "yaer"; did you mean "year"?\nwarning: items[1], items[2] are long\n',
  );
  expect(warned.output).toBe(quiet.output);
  expect([warned.exitCode, quiet.exitCode, quiet.messages]).toEqual([0, 0, '']);
});
