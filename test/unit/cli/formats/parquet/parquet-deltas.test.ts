import { checkDeltas } from '../../../../../cli/formats/parquet/parquet-deltas';

const varint = (value: number): number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(Math.floor(value / 0x80))];
const zigzag = (value: number): number[] => varint(value < 0 ? -2 * value - 1 : 2 * value);

/** Numbers as Parquet writes them, in blocks of 128 in 4 parts; `isPadded`: the last part is whole. */
function deltas(values: number[], isPadded = true): number[] {
  const bytes = [...varint(128), ...varint(4), ...varint(values.length), ...zigzag(values[0])];
  const steps = values.slice(1).map((value, i) => value - values[i]);
  for (let from = 0; from < steps.length; from += 128) {
    const block = steps.slice(from, from + 128);
    const least = Math.min(...block);
    const parts = [0, 32, 64, 96].map((at) => block.slice(at, at + 32).map((step) => step - least));
    const widths = parts.map((part) => (part.length === 0 ? 0 : Math.max(...part).toString(2).length));
    bytes.push(...zigzag(least), ...widths);
    for (const [n, part] of parts.entries()) {
      if (part.length === 0) continue;
      const bits = part.flatMap((rest) =>
        Array.from({ length: widths[n] }, (_, bit) => Math.floor(rest / 2 ** bit) % 2),
      );
      const length = isPadded ? 32 * widths[n] : Math.ceil(bits.length / 8) * 8;
      for (let at = 0; at < length; at += 8)
        bytes.push(
          Array.from({ length: 8 }, (_, bit) => (bits[at + bit] ?? 0) * 2 ** bit).reduce((sum, each) => sum + each),
        );
    }
  }
  return bytes;
}

const check = (bytes: number[], encoding: string, count: number) => () =>
  checkDeltas(Uint8Array.from(bytes), encoding, count);
const lengths = Array.from({ length: 300 }, (_, i) => 10 + ((i * i) % 37));
/** Each text begins as the one before does, as far as that goes. */
const prefixes = lengths.map((_, i) => (i === 0 ? 0 : Math.min(lengths[i - 1], (i * 7) % 10)));
const suffixes = lengths.map((length, i) => length - prefixes[i]);

test('what writers write is good, also where the last part has no more than its values', () => {
  expect(check(deltas(lengths), 'DELTA_BINARY_PACKED', 300)).not.toThrow();
  for (const isPadded of [true, false])
    expect(check(deltas(lengths, isPadded), 'DELTA_LENGTH_BYTE_ARRAY', 300)).not.toThrow();
  expect(check([...deltas(prefixes), ...deltas(suffixes)], 'DELTA_BYTE_ARRAY', 300)).not.toThrow();
  expect(check(deltas([5]), 'DELTA_LENGTH_BYTE_ARRAY', 1)).not.toThrow();
});

test.each([
  ['no parts', [...varint(128), 0, 1, 0]],
  ['more parts than values', [...varint(128), ...varint(256), 1, 0]],
  ['fewer than none, in 32 bits', [...varint(128), 0xff, 0xff, 0xff, 0xff, 0x0f, 1, 0]],
  ['parts of 16 values', [...varint(128), 8, 1, 0]],
  ['an empty block', [0, 4, 1, 0]],
  ['a block of a thousand million', [...varint(2 ** 30), 4, 1, 0]],
])('a block of %s is refused', (_, bytes) => {
  for (const encoding of ['DELTA_BINARY_PACKED', 'DELTA_LENGTH_BYTE_ARRAY', 'DELTA_BYTE_ARRAY'])
    expect(check(bytes, encoding, 10)).toThrow('a block would have');
});

test('lengths that come to more than a page may have, or can not be, are refused', () => {
  // Lengths that grow by one each, without a bit for any of them.
  const growing = (count: number): number[] => {
    const bytes = [...varint(128), 4, ...varint(count), 0];
    for (let i = 1; i < count; i += 128) bytes.push(...zigzag(1), 0, 0, 0, 0);
    return bytes;
  };
  const ones = (count: number): number[] => [
    ...varint(128),
    4,
    ...varint(count),
    ...zigzag(1),
    ...Array.from({ length: Math.ceil((count - 1) / 128) }, () => [0, 0, 0, 0, 0]).flat(),
  ];
  expect(check([...growing(100), ...ones(100)], 'DELTA_BYTE_ARRAY', 100)).not.toThrow();
  expect(check([...growing(20_000), ...ones(20_000)], 'DELTA_BYTE_ARRAY', 20_000)).toThrow('bytes of texts');
  expect(check([...deltas([5, 6]), ...ones(2)], 'DELTA_BYTE_ARRAY', 2)).toThrow('can not be');
  expect(check(deltas([5, -6]), 'DELTA_LENGTH_BYTE_ARRAY', 2)).toThrow('can not be');
  expect(check(ones(4), 'DELTA_LENGTH_BYTE_ARRAY', 4 << 20)).toThrow('texts');
  expect(check(deltas(lengths).slice(0, 60), 'DELTA_LENGTH_BYTE_ARRAY', 300)).toThrow('cut off');
});
