import { eventData } from '../../../../../coordinator/models/language/event-data';

async function dataOf(pieces: (string | Buffer)[], bytesMax = 1_000_000): Promise<string[]> {
  async function* body(): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) yield Buffer.from(piece as string);
  }
  const found: string[] = [];
  for await (const { data, isClosed } of eventData(body(), bytesMax)) found.push(isClosed ? data : `${data}, open`);
  return found;
}

describe('the data of a stream of events', () => {
  const text = ': hello\r\n\r\nevent: x\ndata: {"a":1}\nid: 7\n\ndata:b\ndata: c\r\rdata: é水\n\ndata: last';

  test('are the same wherever the stream is cut', async () => {
    const bytes = Buffer.from(text);
    const whole = await dataOf([bytes]);
    expect(whole).toEqual(['{"a":1}', 'b\nc', 'é水', 'last, open']);
    for (let at = 1; at < bytes.length; at += 1)
      expect(await dataOf([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(whole);
    expect(await dataOf([...bytes].map((byte) => Buffer.from([byte])))).toEqual(whole);
  });

  test('have bounds', async () => {
    await expect(dataOf(['data: x\n\n'.repeat(10)], 50)).rejects.toThrow('more than 50 bytes');
    await expect(dataOf(['x'.repeat(2_000_000)], 1e9)).rejects.toThrow('line without end');
    expect(await dataOf([])).toEqual([]);
  });
});
