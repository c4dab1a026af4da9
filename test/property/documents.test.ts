import { ONLY_DRIVER } from '../../coordinator/jobs/driving/owned-entry';
import type { RunningService } from '../../coordinator/service-factory';
import { cutDocument } from '../../coordinator/service/documents/cut-document';
import type { Chunking } from '../../coordinator/service/documents/formats/parsed-document';
import type { NewDocument, VectorView } from '../../coordinator/service/service';
import { type PlainService, newCollection, plainService } from '../support/shards/plain-service';
import { runSeed, seededRandom } from '../support/values/random';

/** Documents against a plain model: the same over any number of shards, across restarts, and beside other uploads. */

const DIM = 8;
const WAIT_MS = 60_000;
const KEYS = ['a', 'b', 'c'];
const CHUNKING: Chunking = { strategy: 'sentences', size: 40, overlap: 10, unit: 'characters' };
const seed = runSeed('documents');

class Documents {
  private plain!: PlainService;
  private driver: { close(): Promise<void> } | null = null;

  constructor(private readonly shards: number) {}

  get service(): RunningService {
    return this.plain.service;
  }

  get embedded(): number {
    return this.plain.embedding.calls.reduce((sum, { texts }) => sum + texts.length, 0);
  }

  async start(): Promise<void> {
    const { store, shards, embedding } = this.plain ?? {};
    const isFirst = store === undefined;
    this.plain = await plainService({ ...(store !== undefined && { store, shards, embedding }) });
    if (isFirst) await this.service.collections.create(newCollection('c', { dim: DIM, shards: this.shards }));
    this.driver = await this.service.driveJobs(ONLY_DRIVER);
  }

  async stop(): Promise<void> {
    await this.driver?.close();
    this.service.close();
  }

  async add(key: string | undefined, text: string, more: Partial<NewDocument> = {}, waitMs = WAIT_MS) {
    const { documents } = this.service;
    const content = (async function* () {
      yield Buffer.from(text);
    })();
    const file = await documents.receive('c', { name: 'a.txt', content });
    const document: NewDocument = {
      file,
      key,
      metadata: undefined,
      chunking: CHUNKING,
      onExists: 'replace',
      expiresAt: undefined,
      textInMetadata: false,
      ...more,
    };
    return documents.add('c', document, waitMs);
  }

  /** All chunks, by document and index. */
  async chunks(): Promise<Map<string, string[]>> {
    const { pages } = await this.service.vectors.scroll('c', {
      cursor: null,
      limit: 1_000,
      filter: null,
      vectors: true,
    });
    const found = new Map<string, string[]>();
    const seen = new Set<string>();
    for await (const page of pages)
      for (const view of page) {
        expect(seen.has(view.externalId)).toBe(false);
        seen.add(view.externalId);
        const { document_id: id, chunk_index: index } = JSON.parse(view.metadata) as any;
        const texts = found.get(id) ?? [];
        expect(texts[index]).toBeUndefined();
        texts[index] = view.text!;
        found.set(id, texts);
        await this.isOfItsText(view);
      }
    return found;
  }

  /** A vector that was kept is that of the text. */
  private async isOfItsText({ text, vector }: VectorView): Promise<void> {
    const [made] = await (await this.plain.embedding.defaultModel()).embed([text!], { dim: DIM, kind: 'passage' });
    expect([...vector!]).toEqual([...made]);
  }
}

async function cut(text: string): Promise<string[]> {
  const chunks: string[] = [];
  for await (const chunk of cutDocument({ type: 'txt', text, pages: [], headings: [] }, CHUNKING))
    chunks.push(chunk.text);
  return chunks;
}

/** Sentences of which many come again. */
function textOf(random: () => number): string {
  const sentence = (): string => `Number ${Math.floor(random() * 12)} of them is here.`;
  return Array.from({ length: 1 + Math.floor(random() * 12) }, sentence).join(' ');
}

describe.each([1, 2, 5])('over %d shards', (shards) => {
  let documents: Documents;
  beforeEach(async () => {
    documents = new Documents(shards);
    await documents.start();
  });
  afterEach(() => documents.stop());

  test('documents are as the last upload of their key left them', async () => {
    const random = seededRandom(seed + shards);
    const model = new Map<string, string>();
    const ids = new Map<string, string>();
    for (let step = 0; step < 40; step += 1) {
      const key = KEYS[Math.floor(random() * KEYS.length)];
      const dice = random();
      if (dice < 0.15 && model.has(key)) {
        await documents.service.documents.delete('c', ids.get(key)!);
        model.delete(key);
      } else if (dice < 0.2) {
        // What was asked for before a deletion is not stored after it.
        const { documentId } = await documents.add(key, textOf(random), {}, 0);
        await documents.service.documents.delete('c', documentId);
        model.delete(key);
      } else if (dice < 0.3) {
        await documents.stop();
        await documents.start();
      } else if (dice < 0.4) {
        // Two at once: the one that was asked for last counts.
        const [first, second] = [textOf(random), textOf(random)];
        const earlier = await documents.add(key, first, {}, 0);
        const later = await documents.add(key, second);
        expect(later.job.state).toBe('done');
        expect(later.documentId).toBe(earlier.documentId);
        await over(documents, earlier.job.id);
        ids.set(key, later.documentId);
        model.set(key, second);
      } else {
        const text = dice < 0.55 ? (model.get(key) ?? textOf(random)) : textOf(random);
        const embedded = documents.embedded;
        const { documentId, job } = await documents.add(key, text);
        expect(job).toMatchObject({ state: 'done', error: null });
        // Nothing but what no chunk of it had before.
        if (model.get(key) === text) expect(documents.embedded).toBe(embedded);
        ids.set(key, documentId);
        model.set(key, text);
      }
      const expected = new Map<string, string[]>();
      for (const [key, text] of model) expected.set(ids.get(key)!, await cut(text));
      expect(sorted(await documents.chunks())).toEqual(sorted(expected));
      const { documents: listed } = await documents.service.documents.list('c', { cursor: null, limit: 100 });
      expect(new Map(listed.map((one) => [one.key, one.chunks]))).toEqual(
        new Map([...model.keys()].map((key) => [key, expected.get(ids.get(key)!)!.length])),
      );
    }
  });

  test('on_exists: what is there stays, and says so', async () => {
    const { documentId } = await documents.add('k', 'First.');
    const skipped = await documents.add('k', 'Second.', { onExists: 'skip' });
    expect(skipped.job).toMatchObject({ state: 'done', result: { outcome: 'skipped', document_id: documentId } });
    await expect(documents.add('k', 'Third.', { onExists: 'error' })).rejects.toMatchObject({ kind: 'already_exists' });
    expect([...(await documents.chunks()).values()]).toEqual([['First.']]);
  });

  test('documents without a key are others, each', async () => {
    await documents.add(undefined, 'One.');
    await documents.add(undefined, 'One.');
    expect([...(await documents.chunks()).values()]).toEqual([['One.'], ['One.']]);
  });

  test('pages of documents are whole by their cursor', async () => {
    for (let i = 0; i < 7; i += 1) await documents.add(`k${i}`, `Text ${i}.`);
    const keys: (string | null)[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<RunningService['documents']['list']>> = await documents.service.documents.list(
        'c',
        { cursor, limit: 3 },
      );
      keys.push(...page.documents.map(({ key }) => key));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(keys).toEqual(Array.from({ length: 7 }, (_, i) => `k${i}`));
  });
});

function sorted(chunks: Map<string, string[]>): [string, string[]][] {
  return [...chunks].sort(([a], [b]) => (a < b ? -1 : 1));
}

async function over({ service }: Documents, id: string): Promise<void> {
  for (;;) {
    const { state } = await service.jobs.get(id);
    if (state === 'done') return;
    expect(['queued', 'running']).toContain(state);
    await new Promise((next) => setImmediate(next));
  }
}
