import { PieceReader } from '../../../../cli/formats/byte-source';
import { floatOfHalf, readNpyHead } from '../../../../cli/formats/npy';

function file(descr: string, shape: string, order = 'False', version = 1): PieceReader {
  const text = `{'descr': '${descr}', 'fortran_order': ${order}, 'shape': ${shape}, }\n`;
  const length =
    version === 1 ? Buffer.from(Uint16Array.of(text.length).buffer) : Buffer.from(Uint32Array.of(text.length).buffer);
  const bytes = Buffer.concat([
    Buffer.from('\u0093NUMPY', 'latin1'),
    Buffer.from([version, 0]),
    length,
    Buffer.from(text),
  ]);
  return new PieceReader(
    (async function* () {
      // In pieces of one byte: where they end does not matter.
      for (const byte of bytes) yield Buffer.from([byte]);
    })(),
  );
}

describe('the head of a .npy file', () => {
  test.each([1, 2, 3])('of version %d says rows, dimensions and type', async (version) => {
    expect(await readNpyHead(file('<f4', '(7, 3)', 'False', version), 'x')).toMatchObject({
      rows: 7,
      dim: 3,
      width: 4,
    });
  });

  test.each([
    ['<f2', new Uint16Array([0x3c00, 0xc000])],
    ['<f4', new Float32Array([1, -2])],
    ['<f8', new Float64Array([1, -2])],
    ['|i1', new Int8Array([1, -2])],
    ['<i2', new Int16Array([1, -2])],
    ['<i4', new Int32Array([1, -2])],
    ['<i8', new BigInt64Array([1n, -2n])],
  ])('decodes %s, and the same in the other byte order', async (descr, values) => {
    const bytes = Buffer.from(values.buffer.slice(0));
    expect([...(await readNpyHead(file(descr, '(1, 2)'), 'x')).decode(bytes)]).toEqual([1, -2]);
    const other = Buffer.from(bytes);
    for (let at = 0; at < other.length; at += values.BYTES_PER_ELEMENT)
      other.subarray(at, at + values.BYTES_PER_ELEMENT).reverse();
    expect([...(await readNpyHead(file(descr.replace(/[<|]/, '>'), '(1, 2)'), 'x')).decode(other)]).toEqual([1, -2]);
  });

  test.each([
    ['|b1', Uint8Array.of(1, 0), [1, 0]],
    ['|u1', Uint8Array.of(1, 200), [1, 200]],
    ['<u2', Uint16Array.of(1, 65_000), [1, 65_000]],
    ['<u4', Uint32Array.of(1, 2 ** 31), [1, 2 ** 31]],
    ['<u8', BigUint64Array.of(1n, 2n ** 63n), [1, 2 ** 63]],
  ])('decodes %s, which has no sign', async (descr, values, numbers) => {
    expect([...(await readNpyHead(file(descr, '(1, 2)'), 'x')).decode(Buffer.from(values.buffer.slice(0)))]).toEqual(
      numbers,
    );
  });

  test.each([
    ['<f4', '(7,)', 'False', /two dimensions/],
    ['<f4', '(7, 3, 2)', 'False', /two dimensions/],
    ['<f4', '(7, 3)', 'True', /Fortran/],
    ['<U8', '(7, 3)', 'False', /type U8/],
    ['<c16', '(7, 3)', 'False', /type c16/],
  ])('%s %s %s is refused with the reason', async (descr, shape, order, reason) => {
    await expect(readNpyHead(file(descr, shape, order), 'x.npy')).rejects.toThrow(reason);
  });

  test('half floats: zero, subnormal, largest, infinite, not a number', () => {
    expect([0x0000, 0x8000, 0x0001, 0x7bff, 0x7c00, 0xfc00, 0x7e00].map(floatOfHalf)).toEqual([
      0,
      -0,
      2 ** -24,
      65_504,
      Infinity,
      -Infinity,
      Number.NaN,
    ]);
  });
});
