import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ClusterProcesses } from '../support/processes/cluster-processes';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { RawConnection } from '../support/http/raw-connection';
import { StalledPipe } from '../support/values/output-places';
import { SmallDisk } from '../support/machines/small-disk';

/** A log that can't be written, or that nobody reads: the service goes on, says so, and stops when it is asked to. */

const disk = SmallDisk.mount(16);
if (disk === null) process.stderr.write('skipped: parts of test/fault/log-away need the right to mount a tmpfs\n');
afterAll(() => disk?.unmount());

/** Each has some lines in the log at this level. */
const LOUD = { LOG_LEVEL: 'trace', LOG_REQUESTS: 'all' };
/** As long as they may be, so that fewer lines fill what may wait of them. */
const REQUEST_ID = 'x'.repeat(128);
const COLLECTION = 'c'.repeat(255);
/** Below what may wait of a log, which is some ten thousand lines. */
const AT_ONCE = 32;
const IN_TURN = 16;
const LOSE_DEADLINE_MS = 300_000;

/** A value of a metric without labels. */
async function sample(opsPort: number, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
}

/** Searches until as many lines were lost as that: some thousands, one behind another on each connection. */
async function loseLines(server: EmbeddedProcess, count: number): Promise<void> {
  const body = JSON.stringify({ vector: [1, 2] });
  const head = [
    `POST /v1/collections/${COLLECTION}/search HTTP/1.1`,
    'host: x',
    `x-api-key: ${server.apiKey}`,
    `x-request-id: ${REQUEST_ID}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
  ].join('\r\n');
  const all = new RegExp(`(?:"status":"success"[^]*?){${IN_TURN}}`);
  const searches = async (): Promise<void> => {
    const connection = await RawConnection.open(server);
    await connection.send(`${head}\r\n\r\n${body}`.repeat(IN_TURN));
    expect(await connection.until(all)).not.toContain('"status":"error"');
    connection.socket.destroy();
  };
  await eventually(
    'lines are lost',
    async () => {
      await Promise.all(Array.from({ length: AT_ONCE }, searches));
      return (await sample(server.opsPort, 'quiver_log_lost_lines_total')) > count;
    },
    LOSE_DEADLINE_MS,
  );
}

/** A process that has its log on `file`, with a collection. */
async function startOn(file: number, threads: string): Promise<EmbeddedProcess> {
  const server = new EmbeddedProcess({ environment: { ...LOUD, HTTP_THREADS: threads } });
  server.outputFile = file;
  await server.start();
  await server.data('POST', '/v1/collections', { name: COLLECTION, dim: 2 });
  await server.data('POST', `/v1/collections/${COLLECTION}/upsert`, { external_id: 'before', vector: [1, 2] });
  return server;
}

(disk === null ? test.skip : test)(
  'a log on a full disk: all is answered, it is told, and lines come again when there is room, behind one that says how many are missing',
  async () => {
    const { folder } = disk as SmallDisk;
    const path = join(folder, 'quiver.log');
    const file = openSync(path, 'a');
    const server = await startOn(file, '1');
    try {
      (disk as SmallDisk).fill();
      await loseLines(server, 100);
      await server.data('POST', `/v1/collections/${COLLECTION}/upsert`, { external_id: 'meanwhile', vector: [1, 2] });
      expect((await fetch(`http://127.0.0.1:${server.opsPort}/livez`)).status).toBe(200);
      expect(await sample(server.opsPort, 'quiver_log_failing')).toBe(1);
      (disk as SmallDisk).free();
      await eventually('the log says what is missing', () =>
        readFileSync(path, 'utf8').includes('lines of the log were lost here'),
      );
      await eventually('it is told', async () => (await sample(server.opsPort, 'quiver_log_failing')) === 0);
      const lines = readFileSync(path, 'utf8')
        .trimEnd()
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as { msg: string; lines: number; reason: string });
      const lost = lines.find(({ msg }) => msg.startsWith('lines of the log were lost here'));
      expect(lost).toMatchObject({ lines: expect.any(Number), reason: expect.stringContaining('ENOSPC') });
      (disk as SmallDisk).fill();
      await server.data('POST', `/v1/collections/${COLLECTION}/upsert`, { external_id: 'again', vector: [1, 2] });
      expect(await server.stop()).toBe(0);
    } finally {
      closeSync(file);
      await server.destroy();
    }
  },
);

test.each(['1', '2'])(
  'a log that nobody reads, by %s threads: all is answered, memory stays, a stop is in order',
  async (threads) => {
    const pipe = new StalledPipe();
    const server = await startOn(pipe.writer, threads);
    try {
      await loseLines(server, 1_000);
      const waiting = await sample(server.opsPort, 'quiver_log_waiting_bytes');
      expect(waiting).toBeGreaterThan(1_000_000);
      expect(waiting).toBeLessThanOrEqual(4 * 1024 * 1024);
      expect(await sample(server.opsPort, 'quiver_log_failing')).toBe(1);
      await server.data('POST', `/v1/collections/${COLLECTION}/upsert`, { external_id: 'meanwhile', vector: [1, 2] });
      await pipe.readUntil('lines of the log were lost here');
      await loseLines(server, await sample(server.opsPort, 'quiver_log_lost_lines_total'));
      expect(await server.stop()).toBe(0);
    } finally {
      pipe.close();
      await server.destroy();
    }
  },
);

test('a log whose reader has gone: all is answered, and a stop is in order', async () => {
  const pipe = new StalledPipe();
  const server = await startOn(pipe.writer, '2');
  try {
    pipe.leave();
    await loseLines(server, 1_000);
    await server.data('POST', `/v1/collections/${COLLECTION}/upsert`, { external_id: 'meanwhile', vector: [1, 2] });
    expect(await server.stop()).toBe(0);
  } finally {
    pipe.close();
    await server.destroy();
  }
});

test.each([
  ['a full disk', () => openSync('/dev/full', 'a')],
  ['a pipe that nobody reads', () => null],
])('members of a cluster with their logs on %s start, serve and stop', async (title, open) => {
  if (title === 'a full disk' && !existsSync('/dev/full')) return;
  const cluster = await ClusterProcesses.start({ nodes: 1, coordinators: 1, threads: 2 });
  const pipe = new StalledPipe();
  const file = open() ?? pipe.writer;
  try {
    for (const member of [...cluster.nodes, ...cluster.coordinators]) {
      expect(await member.stop()).toBe(0);
      member.outputFile = file;
      await member.start(LOUD);
    }
    await cluster.settled();
    await cluster.makeCollection('c');
    for (let i = 0; i < 300; i += 1)
      await cluster.data('POST', '/v1/collections/c/upsert', { external_id: `x${i}`, vector: [1, i] });
    for (const { opsPort } of [...cluster.nodes, ...cluster.coordinators]) {
      expect((await fetch(`http://127.0.0.1:${opsPort}/livez`)).status).toBe(200);
      // What a pipe holds may not be full yet.
      if (title === 'a full disk') expect(await sample(opsPort, 'quiver_log_failing')).toBe(1);
    }
    for (const member of [...cluster.coordinators, ...cluster.nodes]) expect(await member.stop()).toBe(0);
  } finally {
    if (file !== pipe.writer) closeSync(file);
    pipe.close();
    await cluster.destroy();
  }
});

test.each<[string, (pipe: StalledPipe) => string]>([
  ['standard output that nobody reads', () => 'stdout'],
  ['a FIFO that nobody reads', (pipe) => pipe.path],
  ...(existsSync('/dev/full') ? [['a device without room', () => '/dev/full'] as [string, () => string]] : []),
])(
  'an audit log on %s: with AUDIT_LOG_FAILURE=refuse nothing is changed meanwhile, all is read, and a stop is in order',
  async (_title, place) => {
    const pipe = new StalledPipe();
    const server = new EmbeddedProcess({
      environment: { HTTP_THREADS: '2', AUDIT_LOG_FAILURE: 'refuse', AUDIT_LOG: place(pipe) },
    });
    server.outputFile = pipe.writer;
    try {
      await server.start();
      const upsert = () => server.call('POST', '/v1/collections/c/upsert', { external_id: 'a', vector: [1, 2] });
      await server.data('POST', '/v1/collections', { name: 'c', dim: 2 });
      const refusal = 'the audit log can not be written, and nothing is changed meanwhile (AUDIT_LOG_FAILURE)';
      await eventually('changes are refused', async () =>
        (await Promise.all(Array.from({ length: AT_ONCE }, upsert))).some(
          ({ error }) => error?.code === 500 && error.message === refusal,
        ),
      );
      await eventually('no thread takes any', async () =>
        (await Promise.all(Array.from({ length: AT_ONCE }, upsert))).every(({ error }) => error?.message === refusal),
      );
      // Where the first line failed at once, no item was taken.
      const { results } = await server.data('POST', '/v1/collections/c/search', { vector: [1, 2] });
      expect(
        results.map(({ external_id: id }: { external_id: string }) => id).filter((id: string) => id !== 'a'),
      ).toEqual([]);
      expect(await sample(server.opsPort, 'quiver_audit_failing')).toBe(1);
      expect(await server.stop()).toBe(0);
    } finally {
      pipe.close();
      await server.destroy();
    }
  },
);
