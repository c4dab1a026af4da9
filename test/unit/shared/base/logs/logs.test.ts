import { humanLine } from '../../../../../shared/base/logs/human-line';
import { silentLogger, type Logger } from '../../../../../shared/base/logs/logger';
import { createLogger } from '../../../../../shared/base/logs/pino-logger';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { newSecret } from '../../../../../coordinator/service/keys/secret';

const API_KEY = 'the "admin" key\\1';

function captured(level = 'trace', secrets: string[] = [API_KEY]): { lines: string[]; logger: Logger } {
  const lines: string[] = [];
  return {
    lines,
    logger: createLogger({
      level,
      secrets,
      output: { write: (line) => lines.push(line), flush: () => Promise.resolve(), flushNow: () => undefined },
    }),
  };
}

const parsed = (line: string): Record<string, any> => JSON.parse(line) as Record<string, any>;

describe('log lines', () => {
  test('are one JSON object each, with level, ISO time, message and fields', () => {
    const { lines, logger } = captured();
    logger.info({ collection: 'books', rows: 3 }, 'sealed');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^\{.*\}\n$/);
    expect(parsed(lines[0])).toEqual({
      level: 30,
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      msg: 'sealed',
      collection: 'books',
      rows: 3,
    });
  });

  test('a message with line breaks stays one line', () => {
    const { lines, logger } = captured();
    logger.warn({ name: 'a\nb' }, 'two\nlines');
    expect(lines[0].trimEnd()).not.toContain('\n');
  });

  test('below the level nothing is written', () => {
    const { lines, logger } = captured('warn');
    logger.debug({}, 'a');
    logger.info({}, 'b');
    logger.warn({}, 'c');
    logger.error({}, 'd');
    logger.fatal({}, 'e');
    expect(lines.map((line) => parsed(line).msg)).toEqual(['c', 'd', 'e']);
  });

  test('a child adds its fields, redacted too', () => {
    const { lines, logger } = captured();
    logger.child({ part: 'node', apiKey: 'abc' }).child({ shard: 2 }).info({}, 'open');
    expect(parsed(lines[0])).toMatchObject({ part: 'node', apiKey: '[redacted]', shard: 2 });
  });

  test('errors carry kind, details and every cause', () => {
    const { lines, logger } = captured();
    const disk = Object.assign(new Error('no space'), { code: 'ENOSPC' });
    const error = new QuiverError('storage_failed', 'the write failed', {
      cause: new Error('batch', { cause: disk }),
      details: { bytes: 12 },
    });
    logger.error({ error }, 'write');
    expect(parsed(lines[0]).error).toMatchObject({
      type: 'QuiverError',
      kind: 'storage_failed',
      message: 'the write failed',
      details: { bytes: 12 },
      stack: expect.stringContaining('logs.test'),
      cause: { message: 'batch', cause: { code: 'ENOSPC', message: 'no space' } },
    });
  });

  test('whatever is thrown can be logged', () => {
    const { lines, logger } = captured();
    const circle: Record<string, unknown> = { a: 1n };
    circle.self = circle;
    const looped = new Error('looped');
    looped.cause = looped;
    for (const error of ['text', 5, null, undefined, circle, Symbol('s'), looped])
      logger.error({ error, circle }, 'thrown');
    expect(lines).toHaveLength(7);
    expect(parsed(lines[0]).error).toEqual({ message: 'text' });
  });
});

describe('secrets', () => {
  test.each([
    'x-api-key',
    'X-API-Key',
    'apiKey',
    'api_key',
    'authorization',
    'Authorization',
    'key',
    'secret',
    'cookie',
    'digest',
  ])('the value of %s is not written, at any depth', (name) => {
    const { lines, logger } = captured();
    logger.info({ [name]: 'hush', request: { headers: { [name]: 'hush' }, list: [{ [name]: 'hush' }] } }, 'request');
    expect(lines[0]).not.toContain('hush');
    expect(parsed(lines[0]).request.headers[name]).toBe('[redacted]');
  });

  test('ids and ordinary fields stay', () => {
    const { lines, logger } = captured();
    logger.info({ keyId: 3, requestId: 'abc', keyword: 'river' }, 'request');
    expect(parsed(lines[0])).toMatchObject({ keyId: 3, requestId: 'abc', keyword: 'river' });
  });

  test('keys and the given secrets are taken out of messages, stacks and details too', () => {
    const { lines, logger } = captured();
    const secret = newSecret();
    const error = new QuiverError('internal', `bad ${secret}`, {
      cause: new Error(`and ${API_KEY}`),
      details: { note: secret },
    });
    logger.error({ error, note: `is ${API_KEY}` }, `key ${secret} of ${API_KEY}`);
    for (const spelling of [secret, API_KEY, JSON.stringify(API_KEY).slice(1, -1)])
      expect(lines[0]).not.toContain(spelling);
    expect(parsed(lines[0]).msg).toBe('key [redacted] of [redacted]');
  });

  test('a secret too short to be told from words does not garble lines', () => {
    const { lines, logger } = captured('info', ['e']);
    logger.info({}, 'hello there');
    expect(parsed(lines[0]).msg).toBe('hello there');
  });
});

describe('lines for people', () => {
  const time = new Date(2024, 4, 6, 7, 8, 9).toISOString();

  test('show time, level, message and fields', () => {
    expect(
      humanLine(JSON.stringify({ level: 30, time, msg: 'request', code: 200, endpoint: '/v1/query' }), false),
    ).toBe('07:08:09 INFO  request code=200 endpoint=/v1/query\n');
  });

  test('show the stack and the causes below', () => {
    const line = humanLine(
      JSON.stringify({ level: 50, time, msg: 'failed', error: { stack: 'Error: a\n  at b', cause: { message: 'c' } } }),
      false,
    );
    expect(line).toBe('07:08:09 ERROR failed\n    Error: a\n      at b\n    caused by c\n');
  });

  test('are coloured only when asked', () => {
    const line = JSON.stringify({ level: 40, time, msg: 'm' });
    expect(humanLine(line, false)).not.toContain('\u001b');
    expect(humanLine(line, true)).toContain('\u001b[33mWARN \u001b[0m');
  });

  test('pass on what is no JSON', () => {
    expect(humanLine('plain\n', true)).toBe('plain\n');
  });
});

test('the silent logger is a logger', () => {
  expect(silentLogger.child({ a: 1 })).toBe(silentLogger);
  expect(() => silentLogger.fatal({}, 'x')).not.toThrow();
});
