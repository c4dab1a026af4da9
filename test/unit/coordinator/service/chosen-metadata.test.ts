import { chosenMetadata } from '../../../../coordinator/service/chosen-metadata';
import type { JsonObject } from '../../../../shared/contract/filter/filter';
import { lookUpPath } from '../../../../node/engine/filter/metadata-path';
import { seededRandom } from '../../../support/values/random';

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
    expect(chosenMetadata(nested, ['author.name', 'n.x', 'author.home.city'])).toBe('{"author":{"name":"Ann","home":{"city":"Ulm"}}}');
    expect(chosenMetadata(nested, ['author.name', 'author'])).toBe('{"author":{"name":"Ann","age":41,"home":{"city":"Ulm"}}}');
    expect(chosenMetadata(nested, ['author', 'author.name', 'tags.name', 'author.'])).toBe('{"author":{"name":"Ann","age":41,"home":{"city":"Ulm"}}}');
    expect(chosenMetadata(nested, ['n'])).toBe('{"n":{}}');
  });

  test('keep every digit, every escape, and the last of two members of one name', () => {
    const text = '{ "id" : 12345678901234567890 ,\n"x":1.50,"q\\"\\u00e9" : {"}":"{\\\\"} , "id2":-1e-7, "x" : 2.500 }';
    expect(chosenMetadata(text, ['id', 'x', 'id2', 'q"é'])).toBe('{"id":12345678901234567890,"x":2.500,"id2":-1e-7,"q\\"\\u00e9":{"}":"{\\\\"}}');
    expect(chosenMetadata(text, ['q"é.}'])).toBe('{"q\\"\\u00e9":{"}":"{\\\\"}}');
  });

  test('are what a filter finds under each path', () => {
    const random = seededRandom(4100);
    const pick = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)];
    const KEYS = ['a', 'b', 'a.b', 'b.c', '', '"', '}', 'é\n', 'a.'];
    const value = (depth: number): unknown => (depth > 0 && random() < 0.5 ? object(depth - 1) : pick([1, '}{"', null, [1, { a: 2 }], 'x\\', {}, true]));
    const object = (depth: number): Record<string, unknown> => Object.fromEntries(Array.from({ length: Math.floor(random() * 4) }, () => [pick(KEYS), value(depth)]));
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
