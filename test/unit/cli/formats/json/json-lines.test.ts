import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { openFile } from '../../../../../cli/formats/open-source';
import type { RecordChunk, RecordSource } from '../../../../../cli/formats/record-source';

const folder = mkdtempSync(join(tmpdir(), 'quiver-json-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const options = { format: null, delimiter: null, columns: null, split: { by: 'file' as const } };
async function open(content: string | Buffer, name = 'a.json'): Promise<RecordSource> {
  writeFileSync(join(folder, name), content);
  return openFile({ path: join(folder, name), format: 'jsonl', name }, options);
}
async function all(source: RecordSource, cursor: unknown = null): Promise<RecordChunk[]> {
  const chunks: RecordChunk[] = [];
  for await (const chunk of source.read(cursor, null)) chunks.push(chunk);
  return chunks;
}
const fieldsOf = (chunks: RecordChunk[]): unknown[] =>
  chunks.flatMap(({ records }) => records.map(({ fields }) => fields));
const reasonsOf = (chunks: RecordChunk[]): unknown[] => chunks.flatMap(({ unreadable }) => unreadable);

const ROWS = Array.from({ length: 1300 }, (_, i) => ({
  id: i,
  text: `a "text" [${i}], {with} \\ all\n signs é`,
  deep: { list: [1, [2], {}] },
}));

describe('JSON that is laid out', () => {
  test.each<[string, string]>([
    ['a line each', ROWS.map((row) => JSON.stringify(row)).join('\n')],
    ['as an array in one line', JSON.stringify(ROWS)],
    ['as an array over lines', JSON.stringify(ROWS, null, 2)],
    ['as an array with a mark of its byte order', `\ufeff ${JSON.stringify(ROWS, null, '\t')}\r\n`],
    ['as objects over lines', ROWS.map((row) => JSON.stringify(row, null, 2)).join('\n')],
    ['three a line', ROWS.map((row, i) => `${JSON.stringify(row)}${i % 3 === 2 ? '\n' : ' '}`).join('')],
    ['beside each other in one line', ROWS.map((row) => JSON.stringify(row)).join('')],
    ['with commas at the ends of lines', ROWS.map((row) => `${JSON.stringify(row)},\n`).join('')],
    ['as a sequence of texts', ROWS.map((row) => `\u001e${JSON.stringify(row)}\n`).join('')],
  ])('%s is read, from every mark', async (_what, text) => {
    const chunks = await all(await open(text));
    expect(fieldsOf(chunks)).toEqual(ROWS);
    expect(reasonsOf(chunks)).toEqual([]);
    for (const [i, { cursor }] of chunks.entries()) {
      const rest = await all(
        await openFile({ path: join(folder, 'a.json'), format: 'jsonl', name: 'a.json' }, options),
        JSON.parse(JSON.stringify(cursor)),
      );
      expect(rest.flatMap(({ records }) => records)).toEqual(chunks.slice(i + 1).flatMap(({ records }) => records));
    }
    expect(fieldsOf(await all(await open(gzipSync(text), 'a.json.gz')))).toEqual(ROWS);
  });

  test('may be one object, or lists of numbers', async () => {
    expect(fieldsOf(await all(await open('{\n "id": 1,\n "a": [\n {"b": 2}\n ]\n}')))).toEqual([
      { id: 1, a: [{ b: 2 }] },
    ]);
    expect(fieldsOf(await all(await open('[[1, 2], [3, 4]]')))).toEqual([{ vector: [1, 2] }, { vector: [3, 4] }]);
    expect(fieldsOf(await all(await open('[]')))).toEqual([]);
  });

  test('with what is wrong gives the other rows, and says which are', async () => {
    const chunks = await all(await open('[{"id":1}, 7, {"id":2,}, null, "x", {"id":3}]'));
    expect(fieldsOf(chunks)).toEqual([{ id: 1 }, { id: 3 }]);
    expect(reasonsOf(chunks)).toMatchObject([{ number: 2 }, { number: 3 }, { number: 4 }, { number: 5 }]);
    const lines = await all(await open('{"id": 1, "text": "abc\n{"id":2}\n{"id":3,\n{"id":4}\n'));
    expect(fieldsOf(lines)).toEqual([{ id: 2 }, { id: 4 }]);
    // A line with something else beside an object is none.
    expect(reasonsOf(await all(await open('{"id":1}\n{"id":2} x\n{"id":3}{"id":4,}\n')))).toMatchObject([
      { number: 2 },
      { number: 3 },
    ]);
    const cut = (await open('[{"id":1},{"id":2,"te')).read(null, null);
    expect((await cut.next()).value?.records).toEqual([{ fields: { id: 1 }, number: 1 }]);
    await expect(cut.next()).rejects.toThrow('is cut off: its array has no end');
  });
});

describe('what other products write is read', () => {
  const batch = (id: string, response: unknown, error: unknown = null): string =>
    JSON.stringify({ id: `batch_${id}`, custom_id: id, response, error });
  const embedding = (index: number): unknown => ({ object: 'embedding', index, embedding: [index, 2] });
  test.each<[string, string, unknown[], unknown]>([
    [
      'OpenAI’s batch output',
      [
        batch('a', { status_code: 200, body: { data: [embedding(0)], model: 'm' } }),
        batch('b', { status_code: 200, body: { data: [embedding(0), embedding(1)] } }),
      ].join('\n'),
      [
        { custom_id: 'a', embedding: [0, 2], model: 'm' },
        { custom_id: 'b#0', embedding: [0, 2] },
        { custom_id: 'b#1', embedding: [1, 2] },
      ],
      { id: 'custom_id', vector: 'embedding' },
    ],
    [
      'embeddings.create',
      JSON.stringify({ object: 'list', data: [embedding(0), embedding(1)], usage: {} }, null, 2),
      [
        { index: 0, embedding: [0, 2] },
        { index: 1, embedding: [1, 2] },
      ],
      { vector: 'embedding' },
    ],
    [
      'Chroma’s get()',
      JSON.stringify({
        ids: ['a', 'b'],
        embeddings: [[1], [2]],
        documents: ['x', null],
        metadatas: [{ k: 1 }, null],
        uris: null,
        included: ['documents'],
      }),
      [
        { id: 'a', embedding: [1], document: 'x', metadata: { k: 1 } },
        { id: 'b', embedding: [2], document: null, metadata: null },
      ],
      { id: 'id', vector: 'embedding', text: 'document' },
    ],
    [
      'a dump of Elasticsearch',
      '{"_index":"i","_id":"1","_source":{"id":9,"title_vector":[1]}}',
      [{ id: 9, title_vector: [1], _id: '1' }],
      { id: '_id' },
    ],
    [
      'an answer of Elasticsearch',
      JSON.stringify({ hits: { hits: [{ _id: '1', _source: { a: 1 } }] } }),
      [{ a: 1, _id: '1' }],
      { id: '_id' },
    ],
    [
      'a bulk file of Elasticsearch',
      '{"index":{"_id":"1"}}\n{"a":1}\n{"update":{"_id":"2"}}\n{"doc":{"a":2}}\n{"create":{}}\n{"a":3}\n',
      [{ a: 1, _id: '1' }, { a: 2, _id: '2' }, { a: 3 }],
      { id: '_id' },
    ],
    [
      'objects of Weaviate',
      JSON.stringify({ objects: [{ class: 'A', id: 'u', properties: { title: 't' }, vector: [1] }] }),
      [{ title: 't', id: 'u', vector: [1] }],
      { id: 'id', vector: 'vector' },
    ],
    [
      'GraphQL of Weaviate',
      JSON.stringify({ data: { Get: { A: [{ title: 't', _additional: { id: 'u', vector: [1] } }] } } }),
      [{ title: 't', id: 'u', vector: [1] }],
      { id: 'id', vector: 'vector' },
    ],
    [
      'lines of Weaviate with a named vector',
      '{"uuid":"u","properties":{"title":"t"},"vector":{"default":[1]}}',
      [{ title: 't', id: 'u', vector: [1] }],
      { id: 'id', vector: 'vector' },
    ],
    [
      'an export of this service',
      JSON.stringify({
        status: 'success',
        data: {
          collection: 'c',
          count: 1,
          vectors: [{ external_id: 'a', vector: [1], metadata: { k: 1 }, version: 7 }],
        },
        error: null,
      }),
      [{ external_id: 'a', vector: [1], metadata: { k: 1 } }],
      {},
    ],
    [
      'a bulk_upsert',
      JSON.stringify({ items: [{ external_id: 'a', text: 'x' }] }),
      [{ external_id: 'a', text: 'x' }],
      {},
    ],
    [
      'an upsert of Pinecone',
      JSON.stringify({ vectors: [{ id: 'a', values: [1], metadata: { k: 1 } }], namespace: 'n' }),
      [{ id: 'a', values: [1], metadata: { k: 1 } }],
      {},
    ],
    [
      'a fetch of Pinecone',
      JSON.stringify({ vectors: { a: { id: 'a', values: [1] } } }),
      [{ id: 'a', values: [1] }],
      {},
    ],
    ['rows of Milvus', JSON.stringify({ code: 0, data: [{ id: 1, vector: [1] }] }), [{ id: 1, vector: [1] }], {}],
    [
      'a row with a list that is no item',
      '{"question":"q","documents":[{"id":"b","text":"y"}]}',
      [{ question: 'q', documents: [{ id: 'b', text: 'y' }] }],
      {},
    ],
    [
      'an item with a list of its own',
      '{"id":"a","text":"x","items":[{"id":"b","text":"y"}]}',
      [{ id: 'a', text: 'x', items: [{ id: 'b', text: 'y' }] }],
      {},
    ],
    [
      'points of Qdrant',
      JSON.stringify({ result: { points: [{ id: 1, payload: { a: 1 }, vector: [1] }] } }),
      [{ id: 1, payload: { a: 1 }, vector: [1] }],
      { id: 'id', vector: 'vector' },
    ],
    [
      'a table of pandas',
      JSON.stringify({ id: { 0: 'a', 1: 'b' }, vector: { 0: [1, 2], 1: [3, 4] }, n: { 0: 5, 1: null } }),
      [
        { id: 'a', vector: [1, 2], n: 5 },
        { id: 'b', vector: [3, 4], n: null },
      ],
      {},
    ],
    [
      'the same as orient="split"',
      JSON.stringify({ columns: ['id', 'vector'], index: [0], data: [['a', [1, 2]]] }),
      [{ id: 'a', vector: [1, 2] }],
      {},
    ],
    [
      'the same as orient="table"',
      JSON.stringify({ schema: { fields: [{ name: 'id' }] }, data: [{ id: 'a', vector: [1, 2] }] }),
      [{ id: 'a', vector: [1, 2] }],
      {},
    ],
    [
      'lists beside each other',
      JSON.stringify({ id: ['a', 'b'], vector: [[1], [2]], tags: [['x'], []] }),
      [
        { id: 'a', vector: [1], tags: ['x'] },
        { id: 'b', vector: [2], tags: [] },
      ],
      {},
    ],
    [
      'an answer of Cohere',
      JSON.stringify({
        id: 'u',
        texts: ['x', 'y'],
        embeddings: { float: [[1], [2]] },
        response_type: 'embeddings_by_type',
      }),
      [
        { embedding: [1], text: 'x' },
        { embedding: [2], text: 'y' },
      ],
      {},
    ],
    ['an answer of Gemini', JSON.stringify({ embeddings: [{ values: [1] }] }), [{ embedding: [1] }], {}],
    [
      'rows of Hugging Face’s viewer',
      JSON.stringify({ features: [], rows: [{ row_idx: 0, row: { text: 'x' }, truncated_cells: [] }] }),
      [{ text: 'x' }],
      {},
    ],
    [
      'LangChain’s store in memory',
      JSON.stringify({ 7: { id: '7', vector: [1], text: 'x', metadata: { k: 1 } } }),
      [{ id: '7', vector: [1], text: 'x', metadata: { k: 1 } }],
      { id: 'id' },
    ],
    [
      'LlamaIndex’s own store',
      JSON.stringify({ embedding_dict: { a: [1] }, text_id_to_ref_doc_id: {}, metadata_dict: { a: { k: 1 } } }),
      [{ embedding: [1], metadata: { k: 1 }, id: 'a' }],
      { id: 'id' },
    ],
    [
      'rows that only look like tables',
      [
        '{"text":{"en":"a","de":"b"},"title":{"en":"c","de":"d"}}',
        '{"question":{"text":"q"},"answer":{"text":"a"}}',
        '{"id":"a","embeddings":[[1,2]]}',
        '{"id":"a","vector":[[1],[2]],"tags":["x","y"]}',
        '{"a_vector":[1,2],"b_vector":[3,4]}',
      ].join('\n'),
      [
        { text: { en: 'a', de: 'b' }, title: { en: 'c', de: 'd' } },
        { question: { text: 'q' }, answer: { text: 'a' } },
        { id: 'a', embeddings: [[1, 2]] },
        { id: 'a', vector: [[1], [2]], tags: ['x', 'y'] },
        { a_vector: [1, 2], b_vector: [3, 4] },
      ],
      {},
    ],
    [
      'rows by their ids',
      '{"a":{"embedding":[1,0],"name":"x"},"07":{"embedding":[0,1]}}',
      [
        { embedding: [1, 0], name: 'x', id: 'a' },
        { embedding: [0, 1], id: '07' },
      ],
      { id: 'id' },
    ],
    [
      'rows by their numbers',
      '{"0":{"id":5,"text":"x"},"1":{"id":6,"text":"y"}}',
      [
        { id: 5, text: 'x' },
        { id: 6, text: 'y' },
      ],
      {},
    ],
    [
      'vectors by their ids',
      '{"a":[1,0],"b":[0,1]}',
      [
        { vector: [1, 0], id: 'a' },
        { vector: [0, 1], id: 'b' },
      ],
      { id: 'id' },
    ],
    [
      'not what may be rows with objects and lists in them',
      [
        '{"title_vec":[1,0],"body_vec":[0,1]}',
        '{"a":[1,0],"b":[0,1,2]}',
        '{"x":[1,0]}',
        '{"x":{"vector":[1,0]}}',
        '{"title":{"vector":[1,0]},"body":{"vector":[1,0]}}',
      ].join('\n'),
      [
        { title_vec: [1, 0], body_vec: [0, 1] },
        { a: [1, 0], b: [0, 1, 2] },
        { x: [1, 0] },
        { x: { vector: [1, 0] } },
        { title: { vector: [1, 0] }, body: { vector: [1, 0] } },
      ],
      {},
    ],
  ])('%s', async (_what, text, rows, known) => {
    const source = await open(text);
    expect(fieldsOf(await all(source))).toEqual(rows);
    expect(source.known).toEqual(known);
  });

  test('or says why there is no row', async () => {
    expect(reasonsOf(await all(await open(batch('a', null, { message: 'too long' }))))).toEqual([
      { number: 1, reason: 'a has no embeddings: too long' },
    ]);
    expect(reasonsOf(await all(await open('["x"]')))).toEqual([
      { number: 1, reason: 'a text alone, and no object such as {"text": …}' },
    ]);
    expect(reasonsOf(await all(await open('{"delete":{"_id":"7"}}\n')))).toEqual([
      { number: 1, reason: 'a deletion of 7' },
    ]);
    expect(reasonsOf(await all(await open('{"ids":["a","b"],"documents":["x"]}')))).toEqual([
      { number: 1, reason: 'there are 2 ids and 1 values of document' },
    ]);
  });

  test('goes on behind the action of a bulk file', async () => {
    const text = Array.from({ length: 1200 }, (_, i) => `{"index":{"_id":"${i}"}}\n{"a":${i}}\n`).join('');
    const chunks = await all(await open(text));
    const rest = await all(await open(text), chunks[0].cursor);
    expect(fieldsOf(rest)).toEqual(fieldsOf(chunks.slice(1)));
    expect(fieldsOf(chunks)).toHaveLength(1200);
  });
});
