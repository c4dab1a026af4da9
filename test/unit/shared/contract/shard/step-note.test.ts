import { randomBytes } from 'node:crypto';
import { SEAL_NONCE_BYTES } from '../../../../../shared/base/secret/sealed-text';
import { isStepNote, keptNote, openedId, sealedId, stepNote } from '../../../../../shared/contract/shard/step-note';

const KEY = randomBytes(32).toString('hex');
const OF_STEP = { token: 'a'.repeat(32), step: 0, note: stepNote('{}', KEY) };
const nonceOf = (sealed: string): string => Buffer.from(sealed, 'base64').subarray(0, SEAL_NONCE_BYTES).toString('hex');

test('an id is sealed alike by every replica, and opened by who has the key', () => {
  for (const id of ['a', 'ü', '\ud800', 'x'.repeat(512)]) {
    const sealed = sealedId(id, OF_STEP);
    expect(sealed).toBe(sealedId(id, { ...OF_STEP, note: stepNote('{}', KEY) }));
    expect([openedId(sealed, KEY), openedId(sealed, randomBytes(32).toString('hex'))]).toEqual([id, null]);
  }
});

test('no two texts have the same nonce: shards seal different ids at the same step', () => {
  const others = [
    sealedId('b', OF_STEP),
    sealedId('a', { ...OF_STEP, step: 1 }),
    sealedId('a', { ...OF_STEP, token: 'b'.repeat(32) }),
  ];
  expect(new Set([sealedId('a', OF_STEP), ...others].map(nonceOf)).size).toBe(4);
});

test('the key is in the note, and not in what is kept of it', () => {
  const note = stepNote('how far it is', KEY);
  expect([isStepNote(note), isStepNote('{"reached":"all"}'), isStepNote('')]).toEqual([true, false, false]);
  expect([note.includes(KEY), keptNote(note).includes(KEY)]).toEqual([true, false]);
});
