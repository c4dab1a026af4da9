import { ONLY_DRIVER } from '../../../../../coordinator/jobs/driving/owned-entry';
import type { NewDocument } from '../../../../../coordinator/service/service';
import { systemClock } from '../../../../../shared/base/time/clock';
import { eventually } from '../../../../support/eventually';
import { PlainShardClient } from '../../../../support/shards/plain-shard-client';
import {
  type PlainService,
  newCollection,
  PlainEmbedding,
  plainService,
} from '../../../../support/shards/plain-service';

/** What becomes of the job of a document that is paused, cancelled, or whose shard is away. */

/** Something that is held until it is let go. */
class Gate {
  isClosed = false;
  reached = 0;
  private open: () => void = () => undefined;
  private passed = Promise.resolve();

  close(): void {
    this.isClosed = true;
    this.passed = new Promise((open) => (this.open = open));
  }

  release(): void {
    this.isClosed = false;
    this.open();
  }

  async pass(): Promise<void> {
    this.reached += 1;
    await this.passed;
  }
}

let plain: PlainService;
let driver: { close(): Promise<void> };
const embedding = new Gate();
const writing = new Gate();

beforeEach(async () => {
  const models = new PlainEmbedding([
    {
      name: 'gated',
      dim: null,
      embed: async (texts, { dim }) => {
        await embedding.pass();
        return texts.map((text) => new Float32Array(dim).fill(text.length));
      },
      measure: async (texts) => ({ lengths: texts.map((text) => text.trim().split(/\s+/).length), most: 20 }),
    },
  ]);
  const shards = new PlainShardClient({ clock: systemClock, dated: true });
  const write = shards.write.bind(shards);
  shards.write = async (...args) => {
    await writing.pass();
    return write(...args);
  };
  plain = await plainService({ embedding: models, shards });
  await plain.service.collections.create(newCollection('c', { dim: 3 }));
  driver = await plain.service.driveJobs(ONLY_DRIVER);
});
afterEach(async () => {
  embedding.release();
  writing.release();
  await driver.close();
  plain.service.close();
});

async function added(text: string, waitMs = 0) {
  const { documents } = plain.service;
  const content = (async function* () {
    yield Buffer.from(text);
  })();
  const file = await documents.receive('c', { name: 'a.txt', content });
  const document: NewDocument = {
    file,
    key: 'k',
    metadata: undefined,
    chunking: {},
    onExists: 'replace',
    expiresAt: undefined,
    textInMetadata: false,
  };
  return documents.add('c', document, waitMs);
}

async function texts(): Promise<(string | null)[]> {
  const { pages } = await plain.service.vectors.scroll('c', { cursor: null, limit: 100, filter: null, vectors: false });
  const found: (string | null)[] = [];
  for await (const page of pages) found.push(...page.map(({ text }) => text));
  return found;
}

/** What is left of files and turns in the cluster store. */
const files = async (): Promise<number> => {
  const { entries } = await plain.store.list('/q/document-');
  return entries.filter(({ key }) => key !== '/q/document-generation').length;
};
const state = async (id: string): Promise<string> => (await plain.service.jobs.get(id)).state;

test('one that is cancelled leaves what was there, and no file', async () => {
  await added('Before.', 60_000);
  embedding.close();
  const before = embedding.reached;
  const { job } = await added('After.');
  await eventually('it embeds', async () => embedding.reached > before);
  expect((await plain.service.jobs.cancel(job.id)).state).toBe('cancelled');
  embedding.release();
  await eventually('its file is gone', async () => (await files()) === 0);
  expect(await texts()).toEqual(['Before.']);
});

test('chunks leave room for the fields that their vectors are made of as well', async () => {
  await plain.service.catalog.update('c', (record) => ({
    ...record,
    embedding: { model: 'local:gated', template: 'From the file {{source}} : {{text}}' },
  }));
  const words = Array.from({ length: 30 }, (_, i) => `word${i}`);
  await added(words.join(' '), 60_000);
  const found = (await texts()).map((text) => text!.split(' ').length);
  expect(found.length).toBeGreaterThan(1);
  // The model reads 20, and the template takes 5.
  expect(Math.max(...found)).toBeLessThanOrEqual(15);
});

test('one that is paused goes on when it is resumed', async () => {
  embedding.close();
  const before = embedding.reached;
  const { job } = await added('Text.');
  await eventually('it embeds', async () => embedding.reached > before);
  expect((await plain.service.jobs.pause(job.id)).state).toBe('paused');
  embedding.release();
  expect(await texts()).toEqual([]);
  await plain.service.jobs.resume(job.id);
  await eventually('it is done', async () => (await state(job.id)) === 'done');
  expect(await texts()).toEqual(['Text.']);
  await eventually('its file is gone', async () => (await files()) === 0);
});

test('one whose write is under way can’t be given up', async () => {
  writing.close();
  const before = writing.reached;
  const { job } = await added('Text.');
  await eventually('it writes', async () => writing.reached > before);
  await expect(plain.service.jobs.cancel(job.id)).rejects.toMatchObject({ kind: 'conflict' });
  writing.release();
  await eventually('it is done', async () => (await state(job.id)) === 'done');
  expect(await texts()).toEqual(['Text.']);
});

test('of two uploads the later one stays, though the earlier one ends last', async () => {
  embedding.close();
  const earlier = await added('Earlier.');
  const before = embedding.reached;
  await eventually('it embeds', async () => embedding.reached > 0 || before > 0);
  const later = await added('Later.');
  embedding.release();
  for (const { job } of [earlier, later])
    await eventually(`${job.id} is done`, async () => (await state(job.id)) === 'done');
  expect(await texts()).toEqual(['Later.']);
});

test('what a file holds beyond the bounds of its write fails its job alone', async () => {
  const { job } = await added('   ', 60_000);
  expect(job).toMatchObject({ state: 'failed', error: expect.stringContaining('empty') });
  expect((await added('Text.', 60_000)).job.state).toBe('done');
});
