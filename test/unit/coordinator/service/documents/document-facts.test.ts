import { type DocumentFacts, wantedChunks } from '../../../../../coordinator/service/documents/document-facts';

/** The chunks that a document is to have. */

const FACTS: DocumentFacts = {
  documentId: '3f2504e0-4f89-41d3-9a0c-0305e82c3301',
  key: null,
  source: 'a.txt',
  type: 'txt',
  title: null,
  pages: null,
  chunks: 100,
  bytes: 1,
  sha256: '',
  fingerprint: null,
  chunking: { strategy: 'fixed', size: 16, overlap: 0, unit: 'characters' },
  updatedAt: '',
  generation: 1,
};
const CHUNKS = Array.from({ length: 100 }, (_, i) => ({ text: `t${i}`, start: i, end: i + 1, headings: [] }));

test('are made one in a step, so that others get on in between', () => {
  const asked: string[] = [];
  const steps = wantedChunks(
    FACTS,
    CHUNKS,
    { metadata: {}, textInMetadata: false },
    { rowFields: () => ({}), mustFit: ({ text }) => void asked.push(text) },
  );
  for (let made = 1; made <= CHUNKS.length; made += 1) {
    expect(steps.next().done).toBe(false);
    expect(asked).toHaveLength(made);
  }
  expect(steps.next()).toMatchObject({ done: true, value: CHUNKS.map(({ text }) => ({ text })) });
});
