import {
  hitJson,
  hitListsPieces,
  hitWriter,
  listPieces,
  scoreJson,
  timingMember,
  vectorJson,
} from '../../../../../coordinator/api/answers/answer-json';
import { formatVectorPlainly } from '../../../../support/models/plain-vector-format';
import { defineEndpoint } from '../../../../../coordinator/api/endpoints/define-endpoint';
import { EndpointMatcher } from '../../../../../coordinator/api/endpoints/endpoint-matcher';
import { publicError } from '../../../../../coordinator/api/answers/envelope';
import { EventLoopLag } from '../../../../../coordinator/api/load/event-loop-lag';
import { OverloadGate } from '../../../../../coordinator/api/load/overload-gate';
import { decodeSegment, parseQuery, parseTarget } from '../../../../../coordinator/api/requests/request-target';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { ManualClock } from '../../../../support/manual-clock';
import { z } from 'zod';

describe('request targets', () => {
  test.each([
    ['/', [''], ''],
    ['/v1/collections', ['v1', 'collections'], ''],
    ['/v1/a/../b/%2F/', ['v1', 'a', '..', 'b', '%2F', ''], ''],
    ['/a?x=1?y#z', ['a'], 'x=1?y'],
    ['/a#b?c', ['a'], ''],
    ['http://host:80/v1/x?y', ['v1', 'x'], 'y'],
    ['HTTP://host', [''], ''],
    ['//double', ['', 'double'], ''],
    ['*', [''], ''],
  ])('%s', (url, segments, query) => {
    if (url === '*') expect(parseTarget(url).segments).toEqual([]);
    else expect(parseTarget(url)).toEqual({ segments, query });
  });

  test('segments are decoded once', () => {
    expect(decodeSegment('a%252Fb%20%F0%9F%98%80+', 'id')).toBe('a%2Fb 😀+');
    for (const broken of ['%', '%2', '%zz', '%ff', '%ed%a0%80'])
      expect(() => decodeSegment(broken, 'id')).toThrow(expect.objectContaining({ kind: 'invalid_parameter' }));
  });

  test('query strings become own members, whatever they are called', () => {
    expect({ ...parseQuery('a=1&b&c=x+y%2B&&__proto__=2') }).toEqual(
      Object.fromEntries([
        ['a', '1'],
        ['b', ''],
        ['c', 'x y+'],
        ['__proto__', '2'],
      ]),
    );
    expect(() => parseQuery('a=1&a=2')).toThrow(expect.objectContaining({ kind: 'invalid_parameter' }));
    expect(() => parseQuery('%zz=1')).toThrow(expect.objectContaining({ kind: 'invalid_parameter' }));
  });
});

describe('endpoint matcher', () => {
  const endpoint = (method: 'GET' | 'POST', template: string) =>
    defineEndpoint({
      method,
      template,
      access: 'public',
      tag: '',
      summary: template,
      answer: { type: 'data', schema: z.unknown() },
      handle: async () => ({ type: 'data', json: '1' }),
    });
  const matcher = new EndpointMatcher([
    endpoint('GET', '/a/{x}/{y}'),
    endpoint('GET', '/a/{x}/fixed'),
    endpoint('POST', '/a/{x}/{y}'),
    endpoint('GET', '/'),
  ]);
  const found = (method: string, path: string) => matcher.match(method, parseTarget(path).segments)?.endpoint.template;

  test('a literal wins over a parameter, whatever the order of the table', () => {
    expect(found('GET', '/a/1/fixed')).toBe('/a/{x}/fixed');
    expect(found('GET', '/a/1/other')).toBe('/a/{x}/{y}');
    expect(found('POST', '/a/1/fixed')).toBe('/a/{x}/{y}');
  });

  test('empty segments, other lengths and other methods match nothing', () => {
    for (const path of ['/a//b', '/a/b/', '/a/b', '/a/b/c/d', '/A/b/c', '//'])
      expect(found('GET', path)).toBeUndefined();
    expect(found('PUT', '/a/1/2')).toBeUndefined();
    expect(found('GET', '/')).toBe('/');
  });
});

describe('answers as text', () => {
  test('scores are always JSON numbers', () => {
    expect([0.5, -0, 1e-9, Infinity, -Infinity, NaN].map((score) => JSON.parse(scoreJson(score)))).toEqual([
      0.5,
      0,
      1e-9,
      Number.MAX_VALUE,
      -Number.MAX_VALUE,
      0,
    ]);
  });

  test('metadata goes in as it is, ids and texts are escaped', () => {
    expect(hitJson({ externalId: '"\n\u2028', score: 1, metadata: '{"__proto__":1}' })).toBe(
      '{"external_id":"\\"\\n\u2028","score":1,"metadata":{"__proto__":1}}',
    );
    expect(
      vectorJson({ externalId: 'a', vector: Float32Array.of(0.1), metadata: '{}', text: 'x"' }, formatVectorPlainly),
    ).toBe('{"external_id":"a","vector":[0.1],"metadata":{},"text":"x\\""}');
    expect(timingMember({ embeddingMs: 1, storageMs: 2, totalMs: 3 }, true)).toBe(
      ',"timing_ms":{"embedding_ms":1,"storage_ms":2,"total_ms":3}',
    );
    expect(timingMember({ embeddingMs: 1, searchMs: 2, totalMs: 3 }, false)).toBe('');
  });

  test('lists come in pieces of bounded length, and are the same text as at once', () => {
    const hits = Array.from({ length: 1000 }, (_, i) => ({
      externalId: `hit-${i}`,
      score: 1 / (i + 1),
      metadata: JSON.stringify({ text: 'x'.repeat(100) }),
    }));
    const pieces = [...listPieces('{"results":', hits, hitJson, ',"k":1000}')];
    expect(pieces.length).toBeGreaterThan(5);
    for (const piece of pieces) expect(piece.length).toBeLessThan(17_000);
    expect(pieces.join('')).toBe(`{"results":[${hits.map(hitJson).join(',')}],"k":1000}`);
    expect([...listPieces('', hits.slice(0, 10), hitJson, '')]).toHaveLength(1);
    expect([...listPieces('', [], hitJson, '')].join('')).toBe('[]');
    const lists = [hits.slice(0, 2), [], hits.slice(3, 4)];
    for (const given of [lists, [], [[]]]) {
      const listed = hitListsPieces(
        '{"results":',
        given.map((found) => ({ hits: found })),
        given.map(() => hitWriter({})),
        '}',
      ) as Iterable<string>;
      expect([...listed].join('')).toBe(
        `{"results":[${given.map((list) => `[${list.map(hitJson).join(',')}]`).join(',')}]}`,
      );
    }
  });

  test('texts that are bounded end between characters', () => {
    const textOf = (text: string, textMax: number): unknown =>
      (
        JSON.parse(hitWriter({ textMax }).json({ externalId: 'a', score: 1, metadata: '{}', text })) as {
          text: unknown;
        }
      ).text;
    expect([1, 2, 3, 4].map((textMax) => textOf('a😀b', textMax))).toEqual(['a', 'a', 'a😀', 'a😀b']);
    expect(hitWriter({ textMax: 1 }).json({ externalId: 'a', score: 1, metadata: '{}' })).not.toContain('text');
  });

  test('only operating errors speak to clients', () => {
    expect(publicError(new QuiverError('already_exists', 'it is there'))).toEqual({
      code: 409,
      message: 'it is there',
    });
    const told = (message: string): string => publicError(new QuiverError('storage_failed', message)).message;
    expect(
      told(
        'the store in /var/lib/quiver/node/3 cannot be opened: IO error: No space left: While appending to file: /var/lib/quiver/node/3/000012.log: 28',
      ),
    ).toBe('the store in (a file) cannot be opened: IO error: No space left: While appending to file: (a file): 28');
    expect(told("EACCES: permission denied, open '/data/x'")).toBe("EACCES: permission denied, open '(a file)'");
    expect(told('shard 3 of node-1 (http://10.0.0.1:7100/x) failed, 3 MB/s, and/or more')).toBe(
      'shard 3 of node-1 (http://10.0.0.1:7100/x) failed, 3 MB/s, and/or more',
    );
    expect(publicError(new QuiverError('not_found', 'there is no GET /v1/nothing')).message).toBe(
      'there is no GET /v1/nothing',
    );
    for (const error of [new Error('secret'), 'secret', null, new QuiverError('internal', 'secret')])
      expect(publicError(error)).toEqual({ code: 500, message: 'internal server error' });
  });
});

describe('overload', () => {
  const bounds = { requestsMax: 2, bodyBytesMax: 100, smallBodyBytes: 0, delayMsMax: 50 };
  const busy = expect.objectContaining({ kind: 'overloaded' });

  test('requests and bytes are bounded and given back once', () => {
    const gate = new OverloadGate({ bounds, delayMs: () => 0 });
    const first = gate.enter(60);
    expect(() => gate.enter(50)).toThrow(busy);
    const second = gate.enter(40);
    expect(() => gate.enter(0)).toThrow(busy);
    expect(() => second.grow(41)).toThrow(busy);
    second.release();
    second.release();
    gate.enter(0).grow(40);
    first.release();
  });

  test('what arrives beyond the announcement counts, what was announced does not count twice', () => {
    const gate = new OverloadGate({ bounds, delayMs: () => 0 });
    const one = gate.enter(50);
    one.grow(50);
    const other = gate.enter(0);
    other.grow(50);
    expect(() => other.grow(1)).toThrow(busy);
    one.release();
    other.grow(40);
  });

  test('a late event loop refuses, a single pause does not', () => {
    jest.useFakeTimers();
    try {
      const clock = new ManualClock();
      const lag = new EventLoopLag({ clock });
      const gate = new OverloadGate({ bounds: { ...bounds, delayMsMax: 500 }, delayMs: () => lag.delayMs });
      const tick = (lateMs: number): void => {
        clock.advance(200 + lateMs);
        jest.advanceTimersByTime(200);
      };
      tick(0);
      expect(lag.delayMs).toBe(0);
      tick(1900);
      gate.enter(0).release();
      for (let i = 0; i < 5; i++) tick(1900);
      expect(() => gate.enter(0)).toThrow(busy);
      for (let i = 0; i < 20; i++) tick(0);
      gate.enter(0).release();
      lag.stop();
    } finally {
      jest.useRealTimers();
    }
  });
});
