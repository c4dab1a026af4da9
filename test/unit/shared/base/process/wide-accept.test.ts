import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setImmediate as round } from 'node:timers/promises';
import { loadBodyScanner } from '../../../../../coordinator/api/native/body-scanner';
import { ACCEPT_WIDTH, acceptWide } from '../../../../../shared/base/process/wide-accept';

const { duplicateHandle } = loadBodyScanner();
const CLIENTS = 4 * ACCEPT_WIDTH;

let server: Server;
let clients: Socket[];
/** Rounds of the event loop so far. */
let rounds: number;
/** In which of them connections came. */
let arrivals: number[];

async function start(made: Server): Promise<void> {
  server = made;
  clients = [];
  arrivals = [];
  server.on('connection', () => arrivals.push(rounds));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
}

/** The system takes them for the server in this turn; the server sees them in the next rounds. */
async function connectAll(count: number): Promise<void> {
  const { port } = server.address() as AddressInfo;
  const opened: Promise<void>[] = [];
  for (let i = 0; i < count; i += 1) {
    const client = connect(port, '127.0.0.1').on('error', () => undefined);
    clients.push(client);
    opened.push(new Promise((done) => client.once('connect', done)));
  }
  rounds = 0;
  await Promise.all(opened);
}

/** Counts rounds until `isOver`. */
async function roundsUntil(isOver: () => boolean): Promise<void> {
  for (; !isOver(); rounds += 1) await round();
}

async function stop(): Promise<void> {
  for (const client of clients) client.destroy();
  await new Promise<void>((done) => server.close(() => done()));
}

/** Between the first and the last arrival. */
const roundsTaken = (): number => arrivals.at(-1)! - arrivals[0] + 1;

test('a round takes as many connections as there are handles', async () => {
  await start(createServer());
  acceptWide(server, duplicateHandle);
  await connectAll(CLIENTS);
  await roundsUntil(() => arrivals.length === CLIENTS);
  expect(roundsTaken()).toBeLessThanOrEqual(CLIENTS / ACCEPT_WIDTH + 2);
  await stop();
});

test('the bound of connections holds for all handles together, and room that is given back is used', async () => {
  const connectionsMax = ACCEPT_WIDTH + 3;
  const open = new Set<Socket>();
  const made = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined).once('close', () => open.delete(socket));
  });
  made.maxConnections = connectionsMax;
  await start(made);
  acceptWide(server, duplicateHandle);
  await connectAll(CLIENTS);
  await roundsUntil(() => clients.filter(({ destroyed, readableEnded }) => destroyed || readableEnded).length > 0);
  await roundsUntil(() => clients.filter((client) => !client.readableEnded && !client.destroyed).length <= open.size);
  expect(open.size).toBe(connectionsMax);
  for (const client of clients) client.destroy();
  await roundsUntil(() => open.size === 0);
  const before = arrivals.length;
  await connectAll(connectionsMax);
  await roundsUntil(() => arrivals.length === before + connectionsMax);
  expect(open.size).toBe(connectionsMax);
  await stop();
});

test('HTTP connections of every handle are served, and closing waits for them and ends the port', async () => {
  const answering: (() => void)[] = [];
  await start(
    createHttpServer((_request, response) => {
      answering.push(() => response.end('there'));
    }),
  );
  const { port } = server.address() as AddressInfo;
  acceptWide(server, duplicateHandle);
  await connectAll(CLIENTS);
  const texts = clients.map(
    (client) =>
      new Promise<string>((done) => {
        let text = '';
        client.on('data', (piece) => (text += piece.toString())).once('close', () => done(text));
      }),
  );
  for (const client of clients) client.write('GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
  await roundsUntil(() => answering.length === CLIENTS);
  let isClosed = false;
  const closed = new Promise<void>((done) => server.close(() => done())).then(() => (isClosed = true));
  const refused = new Promise<string>((done) =>
    connect(port, '127.0.0.1').once('error', (error: NodeJS.ErrnoException) => done(error.code!)),
  );
  expect(await refused).toBe('ECONNREFUSED');
  expect(isClosed).toBe(false);
  for (const answer of answering) answer();
  for (const text of await Promise.all(texts)) expect(text).toContain('there');
  await closed;
});
