import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { StrangeBytes } from '../../../../../shared/wire/codecs/strange-bytes';
import { runSeed, seededRandom } from '../../../../support/values/random';

/** More than is read of one in a turn, and of how many. */
const PIECE_MAX = 1_024;
const A_TURN = 4;

function connection(): { socket: Socket; sent: Buffer[]; paused: () => boolean } {
  const sent: Buffer[] = [];
  const socket = new Duplex({
    read: () => undefined,
    write: (bytes: Buffer, _encoding, done) => {
      sent.push(bytes);
      done();
    },
  });
  return {
    socket: Object.assign(socket as unknown as Socket, { setNoDelay: () => socket }),
    sent,
    paused: () => socket.isPaused(),
  };
}

const turn = () => new Promise((wake) => setImmediate(wake));

function bytesOf(length: number): Buffer {
  return Buffer.from(Array.from({ length }, (_, i) => i % 251));
}

/** What was passed on, and the end of it. */
function reading(bytes: Duplex): { passed: () => Buffer; ended: Promise<void> } {
  const pieces: Buffer[] = [];
  bytes.on('data', (piece: Buffer) => pieces.push(piece));
  return { passed: () => Buffer.concat(pieces), ended: new Promise((done) => bytes.once('end', done)) };
}

test("a stranger's bytes are read in small pieces, one in a turn, and no more is taken from the socket meanwhile", async () => {
  const { socket, paused } = connection();
  const { passed, ended } = reading(new StrangeBytes(socket, () => false));
  const all = bytesOf(65_536);
  await turn();
  socket.push(all);
  let before = 0;
  let turns = 0;
  for (; before < all.length; turns += 1) {
    await turn();
    const now = passed().length;
    expect(now - before).toBeLessThanOrEqual(PIECE_MAX);
    if (now < all.length && now > 0) expect(paused()).toBe(true);
    before = now;
  }
  expect(turns).toBeGreaterThan(60);
  socket.push(null);
  await ended;
  expect(passed()).toEqual(all);
});

test('of many strangers, few are read in a turn, and each comes to its turn as often as the others', async () => {
  const connections = Array.from({ length: 20 }, connection);
  const read = connections.map(({ socket }) => reading(new StrangeBytes(socket, () => false)));
  await turn();
  for (const { socket } of connections) socket.push(bytesOf(10_000));
  const lengths = () => read.map(({ passed }) => passed().length);
  let before = lengths();
  while (before.some((length) => length < 10_000)) {
    await turn();
    const now = lengths();
    expect(now.filter((length, i) => length > before[i]).length).toBeLessThanOrEqual(A_TURN);
    expect(Math.max(...now) - Math.min(...now)).toBeLessThanOrEqual(PIECE_MAX);
    before = now;
  }
});

test('what a member sends is read as it comes, from when it is proven on', async () => {
  const { socket } = connection();
  let isProven = false;
  const { passed } = reading(new StrangeBytes(socket, () => isProven));
  const all = bytesOf(200_000);
  await turn();
  socket.push(all.subarray(0, 100_000));
  while (passed().length === 0) await turn();
  expect(passed().length).toBeLessThanOrEqual(PIECE_MAX);
  isProven = true;
  await turn();
  await turn();
  expect(passed().length).toBe(100_000);
  socket.push(all.subarray(100_000));
  await turn();
  expect(passed()).toEqual(all);
});

test('whatever is proven when, and however much is taken, all comes in order and then the end', async () => {
  const random = seededRandom(runSeed('bytes of strangers'));
  for (let round = 0; round < 40; round += 1) {
    const { socket } = connection();
    let isProven = random() < 0.2;
    const bytes = new StrangeBytes(socket, () => isProven);
    const { passed, ended } = reading(bytes);
    const all = bytesOf(Math.floor(random() * 30_000));
    for (let at = 0; at < all.length;) {
      const end = at + 1 + Math.floor(random() ** 4 * all.length);
      socket.push(all.subarray(at, end));
      at = end;
      if (random() < 0.3) await turn();
      if (random() < 0.1) bytes.pause();
      if (random() < 0.1) isProven = true;
      bytes.resume();
    }
    socket.push(null);
    await ended;
    expect(passed()).toEqual(all);
  }
});

test('what is taken too slowly is not read; what is sent goes out in order, and it ends with its connection', async () => {
  const { socket, sent, paused } = connection();
  const bytes = new StrangeBytes(socket, () => true);
  bytes.read(0);
  socket.push(bytesOf(200_000));
  await turn();
  socket.push(bytesOf(1));
  await turn();
  expect(paused()).toBe(true);
  expect(bytes.readableLength).toBeLessThan(400_000);
  bytes.cork();
  bytes.write(Buffer.from('a'));
  bytes.write(Buffer.from('b'));
  bytes.uncork();
  bytes.write(Buffer.from('c'));
  await turn();
  expect(Buffer.concat(sent).toString()).toBe('abc');
  const closed = new Promise((done) => bytes.once('close', done));
  socket.destroy();
  await closed;
});
