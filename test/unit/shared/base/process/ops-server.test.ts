import { connect, createServer } from 'node:net';
import { OpsServer, type Readiness } from '../../../../../shared/base/process/ops-server';
import { eventually } from '../../../../support/eventually';

describe('the operations port', () => {
  let readiness: Readiness = { ready: true };
  let metrics: () => Promise<{ contentType: string; text: string }>;
  let errors: unknown[];
  let server: OpsServer;
  let base: string;

  beforeEach(async () => {
    readiness = { ready: true };
    metrics = async () => ({ contentType: 'text/plain; version=0.0.4; charset=utf-8', text: 'up 1\n' });
    errors = [];
    server = new OpsServer({
      readiness: () => readiness,
      metrics: () => metrics(),
      onError: (error) => errors.push(error),
    });
    base = `http://127.0.0.1:${await server.listen(0, '127.0.0.1')}`;
  });

  afterEach(() => server.close());

  const get = async (path: string, method = 'GET'): Promise<{ status: number; text: string; type: string | null }> => {
    const answer = await fetch(base + path, { method });
    return { status: answer.status, text: await answer.text(), type: answer.headers.get('content-type') };
  };

  test('lives, and is ready when it is told so', async () => {
    expect(await get('/livez')).toMatchObject({ status: 200, text: 'ok\n' });
    expect(await get('/readyz?verbose')).toMatchObject({ status: 200, text: 'ok\n' });
    readiness = { ready: false, reason: 'recovering 2 shards' };
    expect(await get('/livez')).toMatchObject({ status: 200 });
    expect(await get('/readyz')).toMatchObject({ status: 503, text: 'recovering 2 shards\n' });
  });

  test('serves metrics as they come', async () => {
    expect(await get('/metrics')).toEqual({
      status: 200,
      text: 'up 1\n',
      type: 'text/plain; version=0.0.4; charset=utf-8',
    });
  });

  test('who takes no answer is cut off, and is in nobody’s way', async () => {
    const text = 'x'.repeat(32 * 1024 * 1024);
    const slow = new OpsServer({
      readiness: () => readiness,
      metrics: async () => ({ contentType: 'text/plain', text }),
      onError: () => undefined,
      answerTimeoutMs: 100,
    });
    const socket = connect(await slow.listen(0, '127.0.0.1'), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.pause();
    socket.write('GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n');
    const serverSide = slow as unknown as {
      server: { getConnections(done: (error: Error | null, count: number) => void): void };
    };
    const count = (): Promise<number> =>
      new Promise((done) => serverSide.server.getConnections((_error, connections) => done(connections)));
    await eventually('it is connected', async () => (await count()) === 1);
    await eventually('it is cut off', async () => (await count()) === 0);
    socket.destroy();
    await slow.close();
  });

  test('metrics that fail are a 500 without the reason, which is told inside', async () => {
    metrics = async () => {
      throw new Error('inner workings');
    };
    const answer = await get('/metrics');
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain('inner workings');
    expect(errors).toEqual([expect.objectContaining({ message: 'inner workings' })]);
  });

  test.each(['/', '/v1/collections', '/livez/', '/metrics/x', '//livez', '/LIVEZ'])('%s is not there', async (path) => {
    expect((await get(path)).status).toBe(404);
  });

  test('it only reads', async () => {
    expect((await get('/livez', 'POST')).status).toBe(405);
    expect(await get('/readyz', 'HEAD')).toMatchObject({ status: 200, text: '' });
  });

  test('a port that is taken is one clear line', async () => {
    const other = createServer();
    const port = await new Promise<number>((done) =>
      other.listen(0, '127.0.0.1', () => done((other.address() as { port: number }).port)),
    );
    const second = new OpsServer({ readiness: () => readiness, metrics, onError: () => undefined });
    await expect(second.listen(port, '127.0.0.1')).rejects.toMatchObject({
      kind: 'invalid_parameter',
      message: expect.stringMatching(
        new RegExp(`^the operations port 127\\.0\\.0\\.1:${port} can't be opened \\(OPS_PORT\\): `),
      ),
    });
    await new Promise((done) => other.close(done));
  });

  test('closing ends open connections and may be repeated', async () => {
    metrics = () => new Promise(() => undefined);
    const pending = fetch(`${base}/metrics`).then(
      () => 'answered',
      () => 'cut',
    );
    await get('/livez');
    await server.close();
    await server.close();
    expect(await pending).toBe('cut');
  });
});
