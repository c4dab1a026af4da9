import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const ROOT = join(__dirname, '../../../../../..');

/** Every way to the network that Node has; each says what became of it. */
const TRIED = `
process.chdir(${JSON.stringify(ROOT)});
const { resolve } = require('path');
require(resolve('test/support/swc-register.js'));
const { refuseNetwork } = require(resolve('coordinator/service/documents/formats/refused-network.ts'));
refuseNetwork();
const port = 9;
const ways = {
  net: () => require('net').connect(port),
  tls: () => require('tls').connect(port),
  http: () => require('http').get({ port }),
  https: () => require('https').get({ port }),
  http2: () => require('http2').connect('http://localhost:9'),
  listen: () => require('net').createServer().listen(0),
  dgram: () => require('dgram').createSocket('udp4').send('x', port),
  dns: () => require('dns').lookup('localhost', () => undefined),
  resolve: () => require('dns').resolve('localhost', () => undefined),
  promised: () => require('dns').promises.lookup('localhost'),
  resolver: () => new (require('dns').Resolver)().resolve4('localhost', () => undefined),
  fetch: () => fetch('http://localhost:9'),
};
const reached = Object.entries(ways).flatMap(([name, act]) => { try { act(); return [name]; } catch { return []; } });
console.log(JSON.stringify(reached));
process.exit();
`;

test('no way in Node leads to the network any more', () => {
  expect(JSON.parse(execFileSync(process.execPath, ['-e', TRIED], { encoding: 'utf8' }))).toEqual([]);
});
