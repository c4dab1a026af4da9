import { SEAL_NONCE_BYTES } from '../../../../shared/secret/sealed-text';
import { keptNote, openedId, sealedId, stepNote } from '../../../../shared/shard/step-note';

const KEY = 'ab'.repeat(32);
const mark = { token: '1'.repeat(32), step: 0, note: stepNote('{"reached":"all"}', KEY) };
const nonceOf = (sealed: string): string => Buffer.from(sealed, 'base64').toString('hex', 0, SEAL_NONCE_BYTES);

test('an id is sealed alike by every replica, and opened by who has the key alone', () => {
  for (const id of ['a', 'ä/🙂', '"', '\ud800']) {
    expect(sealedId(id, mark)).toBe(sealedId(id, mark));
    expect(openedId(sealedId(id, mark), KEY)).toBe(id);
    expect(openedId(sealedId(id, mark), 'cd'.repeat(32))).toBeNull();
  }
});

test('two ids never share a nonce, though shards seal theirs at the same step under the same key', () => {
  const sealed = Array.from({ length: 200 }, (_, i) => sealedId(`id-${i}`, mark));
  expect(new Set(sealed.map(nonceOf)).size).toBe(sealed.length);
  expect(nonceOf(sealedId('id-0', { ...mark, step: 1 }))).not.toBe(nonceOf(sealed[0]));
});

test('the key is not kept with a note', () => {
  expect(mark.note).toContain(KEY);
  expect(keptNote(mark.note)).not.toContain(KEY);
});
