import { derivedKey } from '../../../../../shared/base/secret/derived-key';
import { CheckedSeals } from '../../../../../shared/base/secret/checked-seals';
import { EntrySeal } from '../../../../../shared/base/secret/entry-seal';

const seal = new EntrySeal({ secret: 'a secret of the cluster' });
const KEY = '/q/keys/2';
const VALUE = '{"role":"admin","name":"ü 𝄞"}';

test('what was sealed for a key is opened there, and says what it said', () => {
  const text = seal.close(KEY, VALUE);
  expect(text).toMatch(/^s1\.[\w-]{43}\./);
  expect(text.endsWith(`.${VALUE}`)).toBe(true);
  expect(seal.open(KEY, text)).toEqual({ seal: 'sealed', value: VALUE });
  expect(seal.open(KEY, seal.close(KEY, ''))).toEqual({ seal: 'sealed', value: '' });
});

test('a value without a seal is told from a forged one', () => {
  for (const value of [VALUE, '', 's1.', '17']) expect(seal.open(KEY, value)).toEqual({ seal: 'unsealed', value });
});

const text = seal.close(KEY, VALUE);
test.each([
  ['at another key', '/q/keys/3', text],
  ['at a key that takes over the beginning of the value', `${KEY}{`, text.replace('.{', '.')],
  ['with another value', KEY, text.replace('admin', 'owner')],
  ['with more at its end', KEY, `${text} `],
  ['with another seal', KEY, text.replace(/^s1\../, (start) => (start === 's1.A' ? 's1.B' : 's1.A'))],
  ['with no seal at all in its place', KEY, `s1.${'='.repeat(43)}.${VALUE}`],
])('%s it is forged', (_what, key, changed) => {
  expect(seal.open(key, changed)).toEqual({ seal: 'forged' });
});

test('who does not know the secret makes no seal; a second secret that is told counts', () => {
  const next = new EntrySeal({ secret: 'the secret of tomorrow' });
  expect(next.open(KEY, text)).toEqual({ seal: 'forged' });
  expect(
    new EntrySeal({ secret: 'the secret of tomorrow', otherSecret: 'a secret of the cluster' }).open(KEY, text),
  ).toEqual({ seal: 'sealedByOther', value: VALUE });
});

test('keys of different purposes and secrets differ', () => {
  const keys = [
    ['one', 'a'],
    ['one', 'b'],
    ['two', 'a'],
  ].map(([secret, purpose]) => derivedKey(secret, purpose).export().toString('hex'));
  expect(new Set(keys).size).toBe(3);
});

describe('entries that were checked before', () => {
  const checked = (lengthMax?: number): { seals: CheckedSeals; opens: () => number } => {
    const open = jest.spyOn(seal, 'open');
    return { seals: new CheckedSeals(seal, lengthMax), opens: () => open.mock.calls.length };
  };
  afterEach(() => jest.restoreAllMocks());

  test('are known again, and never taken for others', () => {
    const { seals, opens } = checked();
    for (let time = 0; time < 3; time += 1)
      expect(seals.open(KEY, `${text}`)).toEqual({ seal: 'sealed', value: VALUE });
    expect(opens()).toBe(1);
    expect(seals.open(KEY, text.replace('admin', 'owner'))).toEqual({ seal: 'forged' });
    expect(seals.open('/q/keys/3', text)).toEqual({ seal: 'forged' });
    expect(seals.open(KEY, text)).toEqual({ seal: 'sealed', value: VALUE });
    const next = seal.close(KEY, 'next');
    expect(seals.open(KEY, next)).toEqual({ seal: 'sealed', value: 'next' });
    expect(seals.open(KEY, text)).toEqual({ seal: 'sealed', value: VALUE });
  });

  test('are forgotten when there is no room for all, the oldest first', () => {
    const { seals, opens } = checked(2 * text.length);
    const keys = [1, 2, 3].map((i) => `/q/keys/${i}`);
    for (const key of keys) seals.open(key, seal.close(key, VALUE));
    expect(opens()).toBe(3);
    seals.open(keys[2], seal.close(keys[2], VALUE));
    seals.open(keys[1], seal.close(keys[1], VALUE));
    expect(opens()).toBe(3);
    seals.open(keys[0], seal.close(keys[0], VALUE));
    expect(opens()).toBe(4);
  });
});
