import { chosenMetadata } from '../../../../coordinator/sampling/chosen-metadata';

describe('the metadata of a sample', () => {
  const metadata = '{"a":1,"b.c":[true,null],"__proto__":{"x":"é"},"z":"1e400"}';

  test('are whole without a choice, and none by an empty one', () => {
    expect(chosenMetadata(metadata, null)).toBe(metadata);
    expect(chosenMetadata(metadata, [])).toBe('{}');
  });

  test('are the members that are named and there, keys taken as they are', () => {
    expect(chosenMetadata(metadata, ['z', 'b.c', 'b', 'toString'])).toBe('{"z":"1e400","b.c":[true,null]}');
    expect(chosenMetadata(metadata, ['__proto__'])).toBe('{"__proto__":{"x":"é"}}');
    expect(chosenMetadata('{}', ['a'])).toBe('{}');
  });
});
