import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tellStory } from '../support/stories/hazard-story';

/**
 * What HTTP/2 of some versions of Node takes the whole process down by. Each story runs in a process of its own: a
 * crash fails it alone.
 */

const FILES = {
  register: join(__dirname, '../support/swc-register.js'),
  http: join(__dirname, '../../coordinator/api/connections'),
  process: join(__dirname, '../../shared/base/process'),
};

/** What every story, and each of its threads, starts with: a server of HTTP/2 on a port of its own, and frames. */
const PROLOGUE = `
  require(${JSON.stringify(FILES.register)});
  const net = require('node:net');
  const { Http2Connections } = require(${JSON.stringify(join(FILES.http, 'http2-connections.ts'))});
  const { ListenerGuard } = require(${JSON.stringify(join(FILES.process, 'listener-guard.ts'))});
  const serving = (serve) => {
    const guard = new ListenerGuard((error) => console.error(error));
    const connections = new Http2Connections({ serve, idleTimeoutMs: 60_000, pace: { stallTimeoutMs: 60_000, stallBytesPerSecond: 0 }, headerBytesMax: 16_384, guard });
    const server = net.createServer((socket) => { socket.on('error', () => undefined); connections.take(socket); });
    return new Promise((done) => server.listen(0, '127.0.0.1', () => done(server.address().port)));
  };
  const frame = (type, flags, id, content = Buffer.alloc(0)) => {
    const head = Buffer.alloc(9);
    head.writeUIntBE(content.length, 0, 3);
    head[3] = type;
    head[4] = flags;
    head.writeUInt32BE(id, 5);
    return Buffer.concat([head, content]);
  };
  const PREFACE = Buffer.concat([Buffer.from('PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n'), frame(4, 0, 0)]);
  // POST or HEAD of / at a.
  const ask = (id, ends, isHead) => frame(1, ends ? 5 : 4, id, Buffer.concat([isHead ? Buffer.from([0x02, 4, ...Buffer.from('HEAD')]) : Buffer.from([0x83]), Buffer.from([0x86, 0x84, 0x41, 1, 0x61])]));
`;

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'http2-hazards-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const tell = (story: string): Promise<void> => tellStory(`${PROLOGUE}\n(async () => {${story}})()`, { folder });

test('a thread that ends while a request and its body wait to be read takes nothing else along', async () => {
  await tell(`
    const { Worker } = require('node:worker_threads');
    const program = ${JSON.stringify(PROLOGUE)} + \`
      const { parentPort, workerData } = require('node:worker_threads');
      const ending = net.createServer((socket) => socket.on('data', () => process.exit(7)));
      ending.listen(0, '127.0.0.1', async () => {
        const port = await serving((request, response) => { response.writeHead(200, {}); response.end('fine'); });
        parentPort.postMessage({ port, endingPort: ending.address().port });
      });
      parentPort.on('message', () => {
        parentPort.postMessage('standing still');
        Atomics.wait(workerData, 0, 0);
      });
    \`;
    const mayGoOn = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(program, { eval: true, workerData: mayGoOn });
    const heard = () => new Promise((done) => worker.once('message', done));
    const { port, endingPort } = await heard();
    const ender = net.connect(endingPort, '127.0.0.1');
    ender.on('error', () => undefined);
    await new Promise((done) => ender.once('connect', done));
    const client = net.connect(port, '127.0.0.1');
    client.on('error', () => undefined);
    const answered = new Promise((done) => client.on('data', (piece) => piece.includes('fine') && done()));
    client.write(Buffer.concat([PREFACE, ask(1, true, false)]));
    await answered;
    worker.postMessage('stand still');
    await heard();
    // The thread finds both in one look, in this order.
    await new Promise((done) => ender.write('end', done));
    await new Promise((done) => client.write(Buffer.concat([ask(3, false, false), frame(0, 0, 3, Buffer.alloc(1000))]), done));
    const ended = new Promise((done) => worker.once('exit', done));
    Atomics.store(mayGoOn, 0, 1);
    Atomics.notify(mayGoOn, 0);
    if ((await ended) !== 7) throw new Error('it did not end by itself');
    client.destroy();
  `);
});

test('requests that are refused, reset and answered without a body, in one piece with what follows them, leave memory whole', async () => {
  await tell(`
    let turn = 0;
    const port = await serving((request, response) => {
      const how = (turn += 1) % 6;
      if (how === 0) { response.writeHead(204, {}); response.end(); }
      else if (how === 1) response.destroy();
      else if (how === 2) response.askForHttp1();
      else if (how === 3) { response.writeHead(200, { connection: 'close' }); response.end('the last'); }
      else if (how === 4) { request.on('data', () => response.destroy()); request.on('end', () => { response.writeHead(200, {}); response.end('fine'); }); }
      else { request.resume(); request.on('end', () => { response.writeHead(304, {}); response.end(); }); }
    });
    let state = 7;
    const below = (limit) => { state = (Math.imul(state, 1103515245) + 12345) >>> 0; return (state >>> 8) % limit; };
    const rest = (id) => [frame(3, 0, id, Buffer.from([0, 0, 0, below(9)])), frame(0, below(2), id, Buffer.alloc(below(100))), frame(8, 0, id, Buffer.from([0, 0, 0, 1])), frame(0, 1, id), frame(7, 0, 0, Buffer.alloc(8))][below(5)];
    for (let round = 0; round < 150; round += 1) {
      const pieces = [PREFACE];
      for (let id = 1; id <= 13; id += 2) {
        pieces.push(ask(id, below(3) === 0, below(4) === 0));
        for (let left = below(4); left > 0; left -= 1) pieces.push(rest(id));
      }
      await new Promise((done) => {
        const client = net.connect(port, '127.0.0.1');
        client.on('error', () => undefined);
        client.on('close', done);
        // The answer to this comes behind all others; some connections end before it.
        pieces.push(frame(6, 0, 0, Buffer.from('all read')));
        client.on('data', (piece) => piece.includes('all read') && client.destroy());
        client.write(Buffer.concat(pieces));
        setTimeout(() => client.destroy(), 50);
      });
    }
    process.exit(0);
  `);
});
