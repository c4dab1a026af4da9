import { exportedVectors } from '../../../../../clients/typescript/src/exported-vectors';
import { seededRandom } from '../../../../support/values/random';

const ITEMS = [
  { external_id: 'plain', vector: [1, 2], metadata: {} },
  {
    external_id: 'a "quote", a \\ and ]}[{',
    vector: [0.5, -1],
    metadata: { 'key\\"': ['}', { deep: [[]] }], end: '\\' },
  },
  { external_id: '😀\u2028', vector: [3, 4], metadata: { text: '"vectors":[' } },
];

const textOf = (items: object[], count = items.length): string =>
  `{"status":"success","data":{"collection":"a","dim":2,"distance_metric":"l2","vectors":${JSON.stringify(items)},"count":${count}},"error":null}`;

async function read(pieces: string[]) {
  async function* source(): AsyncGenerator<string> {
    yield* pieces;
  }
  const found = [];
  for await (const { vector, ...others } of exportedVectors(source())) found.push({ ...others, vector: [...vector] });
  return found;
}

test('vectors are found wherever the text is cut', async () => {
  const text = textOf(ITEMS);
  for (let i = 0; i <= text.length; i++)
    expect((await read([text.slice(0, i), text.slice(i)])).map((item) => ({ ...item }))).toEqual(ITEMS);
  expect(await read([...text])).toEqual(ITEMS);
  const random = seededRandom(7);
  for (let round = 0; round < 50; round++) {
    const pieces: string[] = [];
    for (let at = 0; at < text.length;) pieces.push(text.slice(at, (at += 1 + Math.floor(random() * 30))));
    expect(await read(pieces)).toEqual(ITEMS);
  }
});

test('base64 is decoded', async () => {
  const vector = Buffer.from(Float32Array.from([1, 2]).buffer).toString('base64');
  expect(await read([textOf([{ external_id: 'x', vector, metadata: {} }])])).toEqual([
    { external_id: 'x', vector: [1, 2], metadata: {} },
  ]);
});

test('an empty export is none', async () => {
  expect(await read([textOf([])])).toEqual([]);
});

test('an answer that ends early, or lacks vectors, is an error after those that came', async () => {
  const text = textOf(ITEMS);
  for (const cut of [10, 120, text.length - 30])
    await expect(read([text.slice(0, cut)])).rejects.toThrow('the export ended after');
  await expect(read([textOf(ITEMS, 4)])).rejects.toThrow('the export ended after 3 vectors of 4');
});
