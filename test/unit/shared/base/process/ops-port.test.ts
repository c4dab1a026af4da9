import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { openOpsPort } from '../../../../../shared/base/process/ops-port';
import { OpsServer } from '../../../../../shared/base/process/ops-server';

let other: Server;
let taken: number;
const ops = new OpsServer({
  readiness: () => ({ ready: true }),
  metrics: async () => ({ contentType: 'text/plain', text: '' }),
  onError: () => undefined,
});
const said: string[] = [];
const log = { warn: (_fields: object, message: string) => void said.push(message) };

beforeAll(async () => {
  other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  taken = (other.address() as AddressInfo).port;
});

afterAll(async () => {
  await ops.close();
  await new Promise((resolve) => other.close(resolve));
});

test('a port that was asked for is refused where it is taken', async () => {
  await expect(openOpsPort(ops, { port: taken, host: '127.0.0.1', isGiven: true, log })).rejects.toThrow(
    /\(OPS_PORT\).*EADDRINUSE/,
  );
  expect(said).toEqual([]);
});

test('any other mistake than a taken port stays one', async () => {
  await expect(openOpsPort(ops, { port: taken, host: '192.0.2.1', isGiven: false, log })).rejects.toThrow(
    /EADDRNOTAVAIL/,
  );
  expect(said).toEqual([]);
});

test('where nobody asked for one that is taken, another is opened, and told', async () => {
  const port = await openOpsPort(ops, { port: taken, host: '127.0.0.1', isGiven: false, log });
  expect(port).not.toBe(taken);
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  expect(said).toEqual([
    `Port ${taken} is taken by another program: the operations port (/metrics, /readyz, /livez) is ${port} this time. OPS_PORT sets one.`,
  ]);
});
