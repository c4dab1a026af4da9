import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { chosenMetadata, keptMetadata } from '../../../../../shared/contract/filter/chosen-metadata';
import type { JsonObject } from '../../../../../shared/contract/filter/filter';
import { lookUpPath } from '../../../../../shared/contract/filter/metadata-path';
import { leastProcessorMs } from '../../../../support/values/linear-cost';
import { seededRandom } from '../../../../support/values/random';

function repeated(times: number, work: () => unknown): void {
  for (let i = 0; i < times; i++) work();
}

/** What collects all garbage at once. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

describe('the metadata that were chosen', () => {
  const metadata = '{"a":1,"b.c":[true,null],"__proto__":{"x":"é"},"z":"1e400"}';

  test('are whole without a choice, and none by an empty one', () => {
    expect(chosenMetadata(metadata, null)).toBe(metadata);
    expect(chosenMetadata(metadata, [])).toBe('{}');
  });

  test('are the members that are named and there, in the order of their names', () => {
    expect(chosenMetadata(metadata, ['z', 'b.c', 'b', 'toString'])).toBe('{"z":"1e400","b.c":[true,null]}');
    expect(chosenMetadata(metadata, ['__proto__'])).toBe('{"__proto__":{"x":"é"}}');
    expect(chosenMetadata('{}', ['a'])).toBe('{}');
  });

  test('reach into objects, and not into lists', () => {
    const nested = '{"author":{"name":"Ann","age":41,"home":{"city":"Ulm"}},"tags":[{"name":"x"}],"n":{}}';
    expect(chosenMetadata(nested, ['author.name', 'n.x', 'author.home.city'])).toBe(
      '{"author":{"name":"Ann","home":{"city":"Ulm"}}}',
    );
    expect(chosenMetadata(nested, ['author.name', 'author'])).toBe(
      '{"author":{"name":"Ann","age":41,"home":{"city":"Ulm"}}}',
    );
    expect(chosenMetadata(nested, ['author', 'author.name', 'tags.name', 'author.'])).toBe(
      '{"author":{"name":"Ann","age":41,"home":{"city":"Ulm"}}}',
    );
    expect(chosenMetadata(nested, ['n'])).toBe('{"n":{}}');
  });

  test('keep every digit, every escape, and the last of two members of one name', () => {
    const text = '{ "id" : 12345678901234567890 ,\n"x":1.50,"q\\"\\u00e9" : {"}":"{\\\\"} , "id2":-1e-7, "x" : 2.500 }';
    expect(chosenMetadata(text, ['id', 'x', 'id2', 'q"é'])).toBe(
      '{"id":12345678901234567890,"x":2.500,"id2":-1e-7,"q\\"\\u00e9":{"}":"{\\\\"}}',
    );
    expect(chosenMetadata(text, ['q"é.}'])).toBe('{"q\\"\\u00e9":{"}":"{\\\\"}}');
  });

  test.each(['{"a":"x', '{"a', '{"a":[1,2', '{"a":1', '', '{"a" 1}', '[1]', '{"a":{"b":1}'])(
    '%j is no object, and ends in an error',
    (text) => {
      for (const path of ['a', 'b', 'a.b']) expect(() => chosenMetadata(text, [path])).toThrow('are no JSON object');
    },
  );

  test('are found in one way through the text, whatever the paths', () => {
    // As many objects in each other as metadata may have, and the longest text at the bottom.
    const deep = `${'{"a":'.repeat(31)}{"b":"${'x'.repeat(60_000)}"}${'}'.repeat(31)}`;
    const wide = JSON.stringify(Object.fromEntries(Array.from({ length: 4000 }, (_, i) => [`key${i}`, i])));
    const paths = Array.from({ length: 100 }, (_, i) => `${'a.'.repeat(31)}none${i}`);
    const costMs = (work: () => unknown): number => leastProcessorMs(() => repeated(50, work));
    const parsingMs = costMs(() => JSON.parse(wide));
    expect(costMs(() => chosenMetadata(deep, ['a.a.b', 'a.none']))).toBeLessThan(10 * parsingMs);
    expect(costMs(() => chosenMetadata(deep, paths))).toBeLessThan(20 * parsingMs);
    expect(costMs(() => chosenMetadata(wide, ['key3999', ...paths]))).toBeLessThan(20 * parsingMs);
  });

  test('keep nothing else alive where somebody keeps them', () => {
    const garbage = collector();
    const kept: string[] = [];
    garbage();
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 300; i++)
      kept.push(
        keptMetadata(
          `{"title":"a title of more than thirteen characters ${i}","text":"${`${i}`.padEnd(60_000, 'x')}"}`,
          ['title'],
        ),
      );
    garbage();
    // All texts together are 18 MB.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(3_000_000);
    expect(kept[299]).toBe('{"title":"a title of more than thirteen characters 299"}');
    expect(keptMetadata('{"a":"\ud800\u0000é","b":1}', ['a'])).toBe('{"a":"\ud800\u0000é"}');
  });

  test('are what a filter finds under each path', () => {
    const random = seededRandom(4100);
    const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)];
    const KEYS = ['a', 'b', 'a.b', 'b.c', '', '"', '}', 'é\n', 'a.'];
    const value = (depth: number): unknown =>
      depth > 0 && random() < 0.5 ? object(depth - 1) : pick([1, '}{"', null, [1, { a: 2 }], 'x\\', {}, true]);
    const object = (depth: number): Record<string, unknown> =>
      Object.fromEntries(Array.from({ length: Math.floor(random() * 4) }, () => [pick(KEYS), value(depth)]));
    for (let round = 0; round < 2000; round++) {
      const whole = object(3) as JsonObject;
      const path = Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(KEYS)).join('.');
      const found = lookUpPath(whole, path);
      const chosen = JSON.parse(chosenMetadata(JSON.stringify(whole, null, pick([0, 1])), [path])) as JsonObject;
      expect([path, lookUpPath(chosen, path)]).toEqual([path, found]);
      if (found === undefined) expect(chosen).toEqual({});
    }
  });
});
