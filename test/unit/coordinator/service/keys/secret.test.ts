import { isMistyped, newSecret } from '../../../../../coordinator/service/keys/secret';

test('a generated secret has the form that scanners look for, and is not mistyped', () => {
  for (let i = 0; i < 50; i += 1) {
    const secret = newSecret();
    expect(secret).toMatch(/^qv_[A-Za-z0-9_-]{49}$/);
    expect(isMistyped(secret)).toBe(false);
  }
});

test('a letter that is another, missing or too many is noticed, wherever it is', () => {
  const secret = newSecret();
  for (let at = 3; at < secret.length; at += 1) {
    const [head, letter, tail] = [secret.slice(0, at), secret[at], secret.slice(at + 1)];
    expect(isMistyped(head + (letter === 'A' ? 'B' : 'A') + tail)).toBe(true);
    expect(isMistyped(`${head}A${letter}${tail}`)).toBe(true);
  }
  // What is cut to the length of an earlier version's secret can't be told from one.
  for (let length = 4; length < secret.length; length += 1)
    expect(isMistyped(secret.slice(0, length))).toBe(length !== 46);
});

test('nothing is said of secrets that have no checksum: those of earlier versions, and those that people chose', () => {
  for (const secret of [`qv_${'x'.repeat(43)}`, 'tour-key', 'the-secret-of-key-1', '', 'QV_abc'])
    expect(isMistyped(secret)).toBe(false);
});
