import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EmbeddedProcess, type Envelope } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';

/**
 * Services beside the data, all of them at once: who takes traces, who has the keys of tokens, the hub of models and
 * the store of backups. However they answer, the process starts, serves, holds no more than it should, and stops in
 * order.
 */

const MODES: Record<string, (response: ServerResponse) => void> = {
  'answer with errors': (response) => response.writeHead(500).end('no'),
  'do not answer': () => undefined,
  'answer without end': (response) => {
    const drops = setInterval(() => response.write(' '), 100);
    response.once('close', () => clearInterval(drops));
  },
  'answer with what makes no sense': (response) => response.end('{"x":[}<html>'),
  'answer with far too much': (response) => {
    let left = FLOOD_PIECES;
    const pour = (): void => {
      while (!response.destroyed && left > 0) {
        left -= 1;
        if (!response.write(PIECE)) return;
      }
      if (left === 0) response.end();
    };
    response.on('drain', pour);
    pour();
  },
};
const PIECE = Buffer.alloc(65_536, 32);
/** Some 200 MB. */
const FLOOD_PIECES = 3_200;
/** What a process holds that does so little: far below one such answer to each question. */
const MEMORY_MAX = 700 * 1024 * 1024;

async function serveBy(
  answer: (response: ServerResponse) => void,
): Promise<{ service: Server; address: string; asked: Set<string> }> {
  const asked = new Set<string>();
  const service = createServer((request, response) => {
    asked.add((request.url ?? '').split(/[/?]/)[1]);
    request.resume();
    response.on('error', () => undefined);
    answer(response);
  });
  await new Promise<void>((done) => service.listen(0, '127.0.0.1', done));
  return { service, address: `http://127.0.0.1:${(service.address() as AddressInfo).port}`, asked };
}

// Beside each other: most of the time a stop waits for what does not answer.
test.concurrent.each(Object.keys(MODES))('services beside the data that %s', async (mode) => {
  const { service, address, asked } = await serveBy(MODES[mode]);
  const server = new EmbeddedProcess({
    environment: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${address}/traces`,
      OTEL_BSP_SCHEDULE_DELAY: '100',
      JWT_ISSUER: 'https://issuer.example',
      JWT_AUDIENCE: 'quiver',
      JWT_JWKS_URL: `${address}/keys`,
      BACKUP_TARGET: 's3://store',
      BACKUP_S3_ENDPOINT: address,
      BACKUP_S3_ACCESS_KEY_ID: 'id',
      BACKUP_S3_SECRET_ACCESS_KEY: 'secret-of-a-test',
      BACKUP_LOG: 'true',
      BACKUP_LOG_SECONDS: '1',
      HTTP_THREADS: '2',
      // Far more than the stop waits for each of them.
      SHUTDOWN_TIMEOUT_MS: '90000',
    },
  });
  try {
    await meets(server, asked);
  } finally {
    await server.destroy();
    service.closeAllConnections();
    service.close();
  }
});

async function meets(served: EmbeddedProcess, asked: Set<string>): Promise<void> {
  await served.start();
  await served.data('POST', '/v1/collections', { name: 'c', dim: 2 });
  await served.data('POST', '/v1/admin/backups', {});
  for (let i = 0; i < 50; i += 1)
    await served.data('POST', '/v1/collections/c/upsert', { external_id: `i${i}`, vector: [1, i] });
  const token = [
    { alg: 'RS256', kid: 'k' },
    { iss: 'https://issuer.example', aud: 'quiver', sub: 's', exp: 4e9 },
  ]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  const refused = await fetch(`${served.baseUrl}/v1/collections`, {
    headers: { authorization: `Bearer ${token}.AAAA` },
  });
  expect(((await refused.json()) as Envelope).error?.message).toContain(
    'the keys of their issuer could not be read yet',
  );
  await eventually('all of them are asked', () => ['traces', 'keys', 'store'].every((place) => asked.has(place)));
  expect((await served.data('POST', '/v1/collections/c/search', { vector: [1, 2], k: 50 })).results).toHaveLength(50);
  expect((await fetch(`http://127.0.0.1:${served.opsPort}/livez`)).status).toBe(200);
  const metrics = await (await fetch(`http://127.0.0.1:${served.opsPort}/metrics`)).text();
  expect(Number(/^process_resident_memory_bytes (.*)$/m.exec(metrics)?.[1])).toBeLessThan(MEMORY_MAX);
  expect(await served.stop()).toBe(0);
}
