import { type DirectoryPage, hasExternalIdAt, ID_IS_UTF16 } from '../../../../../node/engine/directory/directory-pages';

/** A page with one item, whose id lies behind a byte. */
function stored(externalId: string, encoding: 'utf8' | 'utf16le'): [DirectoryPage, Buffer] {
  const bytes = Buffer.from(externalId, encoding);
  const page = { offsets: [1], idBytes: [bytes.length], flags: [encoding === 'utf8' ? 0 : ID_IS_UTF16] };
  return [page as unknown as DirectoryPage, Buffer.concat([Buffer.of(0xff), bytes, Buffer.from('{}')])];
}

// "Ã\u00a9" has as many characters as "é" has bytes, and their codes are those bytes.
const IDS = ['a', 'b', 'ab', 'a{', 'é', 'Ã©', 'aé', 'aÃ', 'éa', '', '\u0000', '日本', '😀', 'aaaa', 'a\u0000a\u0000'];

describe.each(['utf8', 'utf16le'] as const)('an id that is stored as %s', (encoding) => {
  test.each(IDS)('%j is found by itself alone', (externalId) => {
    const [page, chunk] = stored(externalId, encoding);
    expect(IDS.filter((other) => hasExternalIdAt(page, 0, chunk, other))).toEqual([externalId]);
  });
});
