import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isOfSession, STATE_PREFIX } from '../../../shared/cluster-store/entries/members';
import type { SealedClusterStore } from '../../../shared/cluster-store/sealed-cluster-store';
import { seededRandom } from '../values/random';

/**
 * Data folders of releases, kept under test/fixtures as `<form>-<version>.tar.gz`: the folder `data`, what the API
 * answered (`answers.json`), and of a node's what etcd held (`etcd.json`). scripts/keep-folders.mjs makes them.
 */
const FIXTURES = resolve(__dirname, '../../fixtures');
const DIM = 8;
const LANGUAGES = ['en', 'de'] as const;
const WORDS = ['river', 'mountain', 'lantern', 'harbour', 'winter', 'orchard', 'signal', 'granite', 'meadow', 'copper'];

/** One call of the API; an error throws. */
export type Call = <Data = any>(method: string, path: string, body?: unknown) => Promise<Data>;

/** A hit of a search: the item and its score. */
export type Hit = [externalId: string, score: number];

/** What the service answers about the items in a language. */
export interface LanguageAnswers {
  collection: unknown;
  vectors: unknown;
  text: unknown;
  search: Hit[];
  filtered: Hit[];
  keywords: Hit[];
}

/**
 * What a service answers about everything that `fill` put into it. Answers that are the same (`withoutHits`,
 * `differenceOfHits`) mean equal content.
 */
export type Answers = Record<(typeof LANGUAGES)[number], LanguageAnswers> & { keys: unknown };

/**
 * Kernels for other instructions add in another order, which changes a score by some 1e-7; kept scores may have five
 * digits (at most 5e-5 of the score off). For scores above 1 it is a part of the score.
 */
const SCORE_TOLERANCE = 1e-4;

/**
 * Puts something of every kind into an empty service: the same at each call. `part` 0, then 1: what a checkpoint does
 * not have.
 */
export async function fill(call: Call, part: 0 | 1): Promise<void> {
  const random = seededRandom(7 + part);
  const vectorOf = (): number[] => Array.from({ length: DIM }, () => Math.fround(random() * 2 - 1));
  const pick = (): string => WORDS[Math.floor(random() * WORDS.length)];
  for (const language of LANGUAGES) {
    if (part === 0)
      await call('POST', '/v1/collections', {
        name: `kept-${language}`,
        dim: DIM,
        distance_metric: language === 'en' ? 'cosine' : 'l2',
        description: 'of a kept folder',
        shards: 2,
        language,
      });
    const items = Array.from({ length: part === 0 ? 60 : 20 }, (_, i) => {
      const number = part === 0 ? i : i + 50;
      const words = `${pick()} ${pick()} ${pick()}`;
      return {
        external_id: `item-${number}`,
        vector: vectorOf(),
        text: `${words} in part ${part}`,
        metadata: { number, part, words, tags: [`t${number % 3}`], nested: { even: number % 2 === 0 } },
      };
    });
    await call('POST', `/v1/collections/kept-${language}/bulk_upsert`, { items });
    for (const number of part === 0 ? [3, 17] : [5, 55])
      await call('DELETE', `/v1/collections/kept-${language}/delete/item-${number}`);
  }
  if (part === 0) await call('POST', '/v1/admin/keys', { name: 'reader', role: 'readonly' });
}

/** Asks for all of it: items with texts, searches, filters, counts, keywords. */
export async function answersOf(call: Call): Promise<Answers> {
  const answers: Partial<Answers> = {};
  const vector = Array.from({ length: DIM }, (_, i) => (i % 3) - 1);
  for (const language of LANGUAGES) {
    const path = `/v1/collections/kept-${language}`;
    const { name, dim, distance_metric, description, shards, vector_count } = await call('GET', path);
    const { vectors } = await call('POST', `${path}/scroll`, { limit: 1000 });
    const { text } = await call('GET', `${path}/vectors/item-61`);
    const hits = async (kind: string, body: object): Promise<Hit[]> =>
      (await call<{ results: { external_id: string; score: number }[] }>('POST', `${path}/${kind}`, body)).results.map(
        ({ external_id, score }) => [external_id, score],
      );
    answers[language] = {
      collection: { name, dim, distance_metric, description, shards, vector_count },
      vectors,
      text,
      search: await hits('search', { vector, k: 20, exact: true }),
      filtered: await hits('search', {
        vector,
        k: 20,
        exact: true,
        filters: { $and: [{ tags: 't1' }, { 'nested.even': true }, { number: { $gte: 10 } }] },
      }),
      keywords: await hits('hybrid_search', { vector, query_text: 'river winter', alpha: 0, k: 20 }),
    };
  }
  const { keys } = await call<{ keys: { name: string; role: string }[] }>('GET', '/v1/admin/keys');
  answers.keys = keys.map(({ name, role }) => [name, role]);
  return answers as Answers;
}

/** These answers without the hits, which `differenceOfHits` compares. */
export function withoutHits(answers: Answers): unknown {
  const without = ({ search: _search, filtered: _filtered, keywords: _keywords, ...rest }: LanguageAnswers): unknown =>
    rest;
  return { ...answers, en: without(answers.en), de: without(answers.de) };
}

/**
 * In what two lists of hits differ, in words; null: in nothing that another processor may not change. Those are the
 * last digits of scores, and with them the order of hits as near to each other, and which of them is the last one of
 * the list.
 */
export function differenceOfHits(found: Hit[], kept: Hit[]): string | null {
  if (found.length !== kept.length) return `${found.length} hits, not ${kept.length}`;
  const isNear = (a: number, b: number): boolean => Math.abs(a - b) <= SCORE_TOLERANCE * Math.max(1, Math.abs(b));
  const scores = new Map(kept);
  const seen = new Set<string>();
  for (const [i, [id, score]] of found.entries()) {
    const expected = scores.get(id) ?? kept[kept.length - 1][1];
    if (seen.has(id)) return `${id} twice`;
    if (!isNear(score, expected) || !isNear(score, kept[i][1]))
      return `${id} at ${i} with ${score}, where ${kept[i][0]} has ${kept[i][1]}`;
    seen.add(id);
  }
  return null;
}

/** What of the cluster store outlives the processes. */
export async function entriesOf(store: SealedClusterStore): Promise<{ key: string; value: string }[]> {
  const { entries } = await store.list(STATE_PREFIX);
  return entries.filter(({ key }) => !isOfSession(key)).map(({ key, value }) => ({ key, value }));
}

/** Packs a folder as the fixture of this name; whoever made the files and when is left out. */
export function keep(
  name: string,
  folder: string,
  parts: { answers: Answers; entries?: { key: string; value: string }[] },
): void {
  writeFileSync(join(folder, 'answers.json'), JSON.stringify(parts.answers));
  if (parts.entries !== undefined) writeFileSync(join(folder, 'etcd.json'), JSON.stringify(parts.entries));
  const names = ['data', 'answers.json', ...(parts.entries === undefined ? [] : ['etcd.json'])];
  // RocksDB's own log says nothing that is needed.
  const words = [
    '--sort=name',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mtime=2000-01-01',
    '--exclude=LOG',
    '--exclude=LOG.old.*',
    '--exclude=LOCK',
    '--use-compress-program=gzip -9n',
  ];
  execFileSync('tar', [...words, '-cf', join(FIXTURES, `${name}.tar.gz`), '-C', folder, ...names]);
}

/** Unpacks a fixture into the folder. */
export function unpack(
  name: string,
  folder: string,
): { dataDir: string; answers: Answers; entries: { key: string; value: string }[] } {
  execFileSync('tar', ['-xzf', join(FIXTURES, `${name}.tar.gz`), '-C', folder]);
  const json = (file: string): any => JSON.parse(readFileSync(join(folder, file), 'utf8'));
  return {
    dataDir: join(folder, 'data'),
    answers: json('answers.json'),
    entries: name.startsWith('node-') ? json('etcd.json') : [],
  };
}
