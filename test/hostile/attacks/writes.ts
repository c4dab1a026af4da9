import { attack, type Attack, post, randomVector, scratch, type Shot, words } from '../attack';

const MIB = 1024 * 1024;
const TATWEEL = '\u0640';

function upload(text: Buffer): Shot {
  const head = `--boundary\r\ncontent-disposition: form-data; name="collection_name"\r\n\r\nscratch\r\n--boundary\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\n`;
  return post('/v1/documents/upload', Buffer.concat([Buffer.from(head), text, Buffer.from('\r\n--boundary--\r\n')]), {
    'content-type': 'multipart/form-data; boundary=boundary',
  });
}

function uploadAttack(name: string, unit: string, bytes = 10 * MIB): Attack {
  return attack({
    name: `upload:${name}`,
    role: 'readwrite',
    shots: () => [upload(Buffer.alloc(Math.floor(bytes / Buffer.byteLength(unit)) * Buffer.byteLength(unit), unit))],
  });
}

function upsert(random: () => number, item: object): Shot {
  return post(scratch('upsert'), {
    external_id: `s-${Math.floor(random() * 1e6)}`,
    vector: randomVector(random),
    ...item,
  });
}

function bulk(random: () => number, count: number, itemOf: (i: number) => object): Shot {
  const items = Array.from({ length: count }, (_, i) => ({
    external_id: `b-${Math.floor(random() * 1e6)}`,
    vector: randomVector(random),
    ...itemOf(i),
  }));
  return post(scratch('bulk_upsert'), { items });
}

function newKeys(random: () => number, count: number): object {
  return Object.fromEntries(Array.from({ length: count }, () => [random().toString(36).slice(2), 1]));
}

function nestedArrays(depth: number): unknown {
  return depth === 0 ? 1 : [nestedArrays(depth - 1)];
}

function writes(name: string, shots: (random: () => number) => Shot[]): Attack {
  return attack({ name, role: 'readwrite', shots });
}

/** What a key that may write can do. */
export const WRITE_ATTACKS: Attack[] = [
  writes('upsert:tatweel', (random) =>
    [20_000, 100_000, MIB].map((bytes) => upsert(random, { text: `${TATWEEL.repeat(bytes / 2)}'s` })),
  ),
  writes('upsert:long-text', (random) =>
    [500_000, 8 * MIB].map((bytes) => upsert(random, { text: words(random, bytes / 9) })),
  ),
  writes('upsert:long-text-embedded', (random) =>
    [500_000, 8 * MIB].map((bytes) => post(scratch('upsert'), { external_id: 'long', text: words(random, bytes / 9) })),
  ),
  writes('upsert:distinct-terms', (random) => [
    upsert(random, { text: Array.from({ length: 200_000 }, () => random().toString(36).slice(2)).join(' ') }),
  ]),
  writes('bulk:texts', (random) => [bulk(random, 1_000, () => ({ text: words(random, 500) }))]),
  writes('bulk:embedded-texts', (random) => [
    post(scratch('bulk_upsert'), {
      items: Array.from({ length: 1_000 }, (_, i) => ({ external_id: `t-${i}`, text: words(random, 200) })),
    }),
  ]),
  writes('metadata:new-keys', (random) =>
    Array.from({ length: 3 }, () => bulk(random, 1_000, () => ({ metadata: newKeys(random, 300) }))),
  ),
  writes('metadata:many-keys', (random) =>
    Array.from({ length: 2 }, () => bulk(random, 1_000, () => ({ metadata: newKeys(random, 2_000) }))),
  ),
  writes('metadata:new-values', (random) => [
    bulk(random, 1_000, () => ({ metadata: { list: Array.from({ length: 500 }, () => random()) } })),
  ]),
  writes('metadata:nested', (random) => [
    bulk(random, 1_000, () => ({ metadata: { deep: Array.from({ length: 300 }, () => nestedArrays(30)) } })),
  ]),
  writes('metadata:long-values', (random) => [
    bulk(random, 400, () => ({ metadata: { long: random().toString(36).repeat(5_000).slice(0, 60_000) } })),
  ]),
  writes('bulk:same-id', (random) => [
    post(scratch('bulk_upsert'), {
      items: Array.from({ length: 1_000 }, () => ({
        external_id: 'same',
        vector: randomVector(random),
        text: words(random, 20),
      })),
    }),
  ]),
  writes('bulk:small', (random) => [bulk(random, 1_000, () => ({ metadata: { a: random() } }))]),
  writes('delete-by-filter', (random) => [
    bulk(random, 1_000, () => ({ metadata: { a: random() } })),
    post(scratch('delete_by_filter'), {
      filters: { $or: Array.from({ length: 1_000 }, () => ({ a: { $gt: random() } })) },
    }),
  ]),
  writes('create-collections', (random) => {
    const name = `c-${Math.floor(random() * 1e9)}`;
    return [
      post('/v1/collections', { name, dim: 4, shards: 16 }),
      { method: 'DELETE', path: `/v1/collections/${name}`, headers: {}, body: null },
    ];
  }),
  uploadAttack('one-word', 'a'),
  uploadAttack('newlines', '\n'),
  uploadAttack('spaces', ' '),
  uploadAttack('combining-marks', '\u0301'),
  uploadAttack('tatweel', TATWEEL),
  uploadAttack('apostrophes', "a'"),
  uploadAttack('han', '\u6f22'),
  uploadAttack('emoji-joined', '\u{1f468}\u200d'),
  uploadAttack('sentences', 'A word. ', 25 * MIB),
];
