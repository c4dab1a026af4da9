import { createServer, type Server } from 'node:net';

/** Below the range from which systems give ports to outgoing connections, which would take them in the meantime. */
const PORT_MIN = 10_000;
const PORT_MAX = 32_000;
/**
 * Ports of a block: more than most test files need, and few enough that every file of several runs has blocks of its
 * own.
 */
const BLOCK = 50;

/** The ports of this file's block that nobody has asked for yet. */
let left: number[] = [];

/**
 * Ports that are free, all different, and given to nobody else, also while nothing listens on them: before a process
 * starts and between two lives of it. Each file takes blocks of ports for itself, which is safe beside other workers
 * and other runs: it listens on the first port of a block until its process ends.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    if (left.length === 0) left = await takeBlock();
    const port = left.shift() as number;
    const probe = await listenOn(port);
    if (probe === null) continue;
    await new Promise((closed) => probe.close(closed));
    ports.push(port);
  }
  return ports;
}

async function takeBlock(): Promise<number[]> {
  for (;;) {
    const first = PORT_MIN + BLOCK * Math.floor(Math.random() * ((PORT_MAX - PORT_MIN) / BLOCK));
    const sign = await listenOn(first);
    if (sign === null) continue;
    sign.unref();
    return Array.from({ length: BLOCK - 1 }, (_, i) => first + 1 + i);
  }
}

/** null when somebody listens there already. */
function listenOn(port: number): Promise<Server | null> {
  return new Promise((answer) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', () => answer(null));
    server.listen(port, '127.0.0.1', () => answer(server));
  });
}
