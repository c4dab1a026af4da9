import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ONLY_DRIVER } from '../../coordinator/jobs/driving/owned-entry';
import { hybridSearchBody } from '../../coordinator/api/schema/search-schemas';
import type { ScoredHit, VectorInput } from '../../coordinator/service/service';
import { readConfig } from '../../shared/base/config/config';
import { QuiverError } from '../../shared/base/errors/quiver-error';
import { defaultAnalyser } from '../../shared/base/text/analyser';
import type { Fuzziness } from '../../shared/base/text/word-variants';
import type { KeywordFields } from '../../shared/contract/shard/keyword-fields';
import type { ShardClient } from '../../shared/contract/shard/shard-client';
import type { KeywordUnit } from '../../shared/contract/shard/keyword-plan';
import { eventually } from '../support/eventually';
import { plainEdits, plainExpansions } from '../support/models/plain-expansions';
import { plainHasPhrase } from '../support/models/plain-phrase';
import { readOnce } from '../support/models/read-once';
import { plainPlanScore } from '../support/models/plain-keyword-plan';
import { compareHits } from '../../shared/contract/shard/shard-read';
import { newCollection, type PlainService, plainService } from '../support/shards/plain-service';
import { graphFactories, openRocksStore, ShardNode } from '../support/shards/shard-node';
import { runSeed, seededRandom } from '../support/values/random';

/** Queries with signs through the whole service, from the body of the request on, against a plain reading of them. */

const DIM = 4;
const IDS = 300;
const seed = runSeed('keyword language');
const schema = hybridSearchBody(readConfig({}, 1));
const analyser = readOnce(defaultAnalyser);

let nodes: ShardNode[] = [];

afterEach(async () => {
  for (const node of nodes) await node.destroy();
  nodes = [];
});

interface Item {
  text: string;
  title: string | undefined;
}

/** A clause as the model has it. */
interface Clause {
  occurs: 'may' | 'must' | 'not';
  words: string[];
  isOfTitle: boolean;
  /** What the last of its words stands for. */
  stands?: 'prefix' | Fuzziness;
  /** They stand together. */
  near?: number;
}

/** How a query is read besides. */
interface Options {
  match?: 'any' | 'all' | { at_least: number };
  fuzzy?: Fuzziness;
  prefix_last?: boolean;
  field_weights?: Record<string, number>;
}

/** Words that are near to each other, or begin so, the most frequent ones first. */
const WORDS = vocabulary();

function vocabulary(): string[] {
  const random = seededRandom(seed);
  const letter = (): string => 'abe'[Math.floor(random() * 3)];
  const roots = Array.from({ length: 12 }, () => Array.from({ length: 2 + Math.floor(random() * 7) }, letter).join(''));
  return [...new Set(Array.from({ length: 70 }, (_, i) => roots[i % 12] + 'xyz'.slice(0, Math.floor(random() * 4))))];
}

/** The same steps for each number of shards. */
class Story {
  private readonly random = seededRandom(seed);
  private readonly items = new Map<string, Item>();
  /** Items found by keywords, by vectors; words that others stood for; items with a phrase. */
  readonly found = { words: 0, both: 0, others: 0, phrases: 0 };
  /** What was answered, for comparison with another number of shards. */
  readonly told: unknown[] = [];

  /** Items can't be copied. */
  private isHeld = false;
  private heldCount = 0;

  private constructor(
    private readonly node: ShardNode,
    private started: PlainService,
    private fields: KeywordFields | undefined,
  ) {}

  static async begin(shards: number, keywordFields?: KeywordFields): Promise<Story> {
    const node = await new ShardNode({ factories: graphFactories('int8'), openStore: openRocksStore }).start();
    nodes.push(node);
    const started = await plainService({ shardClient: node.client });
    await started.service.collections.create(newCollection('c', { dim: DIM, metric: 'cosine', shards, keywordFields }));
    return new Story(node, started, keywordFields);
  }

  async restart(): Promise<void> {
    this.started.service.close();
    await this.node.restart();
    this.started = await plainService({ store: this.started.store, shardClient: this.client() });
  }

  /**
   * Other fields, in the place of the present ones. Until the new index is whole, the present one answers; writes go
   * on, and the process ends in between.
   */
  async reindex(fields: KeywordFields | null): Promise<void> {
    this.isHeld = true;
    await this.restart();
    const { job } = await this.started.service.collections.update('c', { keywordFields: fields });
    expect(job).toMatch(/^reindex-/);
    let driver = await this.started.service.driveReshards(ONLY_DRIVER, 0);
    await eventually('it copies', () => this.heldCount > 0);
    await this.write(40);
    await this.ask(10);
    await driver.close();
    await this.restart();
    this.isHeld = false;
    driver = await this.started.service.driveReshards(ONLY_DRIVER, 0);
    await this.write(40);
    await eventually('it is done', async () => {
      const { keywordFields } = await this.started.service.collections.get('c');
      return JSON.stringify(keywordFields) === JSON.stringify(fields);
    });
    await driver.close();
    expect(await this.started.service.jobs.get(job!)).toMatchObject({ kind: 'reindex', state: 'done' });
    this.fields = fields ?? undefined;
    await this.ask(20);
    await this.restart();
    await this.ask(10);
  }

  /** What reads items to copy them waits, as long as it is held. */
  private client(): ShardClient {
    const { client } = this.node;
    return {
      make: (spec) => client.make(spec),
      open: (spec) => client.open(spec),
      drop: (id) => client.drop(id),
      write: (id, operations, call) => client.write(id, operations, call),
      read: async (id, kind, request, call) => {
        if (kind === 'scan' && this.isHeld) {
          this.heldCount += 1;
          throw new QuiverError('unavailable', 'it is held');
        }
        return client.read(id, kind, request, call);
      },
    };
  }

  /** Of what was written, phrases are looked for in positions from now on. */
  async makePositions(): Promise<void> {
    const folder = join(this.node.folder, 'shards');
    for (const collectionUid of readdirSync(folder)) {
      for (const name of readdirSync(join(folder, collectionUid)).filter((one) => /^\d+$/.test(one))) {
        const shard = await this.node.host.shard({ collectionUid, shard: Number(name) });
        await shard.read('optimize', null);
        await shard.settled();
        expect(readdirSync(join(folder, collectionUid, name, 'positions'))).not.toEqual([]);
      }
    }
  }

  async write(count: number): Promise<void> {
    const ids = [...new Set(Array.from({ length: count }, () => this.id()))];
    await this.started.service.vectors.upsert(
      'c',
      ids.map((externalId): VectorInput => {
        const text = this.words(9);
        const title = this.below(3) === 0 ? undefined : this.words(4);
        this.items.set(externalId, { text, title });
        const source = { vector: Float32Array.from({ length: DIM }, () => this.random() - 0.5) };
        return { externalId, source, metadata: JSON.stringify({ title }), text };
      }),
    );
    const gone = Array.from({ length: Math.ceil(count / 10) }, () => this.id());
    await this.started.service.vectors.delete('c', gone);
    for (const id of gone) this.items.delete(id);
  }

  async ask(queries: number): Promise<void> {
    for (let i = 0; i < queries; i += 1) {
      const isSimple = this.below(4) > 0;
      const clauses = Array.from({ length: 1 + this.below(5) }, () => this.clause(isSimple));
      const match = this.pick([undefined, 'any', 'all', { at_least: 0.75 }, { at_least: 0.4 }] as const);
      const fuzzy = this.pick([undefined, 1, 2, 'auto'] as const);
      const options: Options = {
        ...(match !== undefined && { match }),
        ...(fuzzy !== undefined && { fuzzy }),
        ...(this.below(4) === 0 && { prefix_last: true }),
        ...(this.fields !== undefined && this.below(2) === 0 && { field_weights: this.weights(this.fields) }),
      };
      const body = {
        query_text: clauses.map((clause) => this.written(clause)).join(' '),
        vector: Array.from({ length: DIM }, () => this.random() - 0.5),
        query_syntax: isSimple ? 'simple' : 'plain',
        ...options,
      };
      const passing = this.passing(clauses);
      for (const clause of clauses)
        if (clause.near !== undefined)
          this.found.phrases += [...this.items.values()].filter((item) => this.hasClause(item, clause)).length;
      const wanted = this.ranked(clauses, options, passing);
      const words = await this.hits({ ...body, alpha: 0, k: IDS });
      expect({ body, hits: idsOf(words).sort() }).toEqual({ body, hits: [...wanted.keys()].sort() });
      const scores = words.map(({ explanation }) => explanation![1].score!);
      words.forEach(({ externalId }, i) => {
        // But for rounding; and equal ones by their ids.
        if (!(Math.abs(scores[i] - wanted.get(externalId)!) < 1e-9))
          throw new Error(`${JSON.stringify(body)}: ${externalId} has ${scores[i]}, not ${wanted.get(externalId)}`);
        expect(
          i === 0 || compareHits({ ...words[i - 1], score: scores[i - 1] }, { externalId, score: scores[i] }) < 0,
        ).toBe(true);
      });
      // What one page has of them is their beginning.
      expect(await this.hits({ ...body, alpha: 0, k: 5 })).toEqual(await this.hits({ ...body, alpha: 0, k: 9 }, 5));
      const both = await this.hits({ ...body, k: IDS, exact: true });
      expect({ body, both: idsOf(both).sort() }).toEqual({ body, both: [...passing.keys()].sort() });
      this.told.push(words, both);
      this.found.words += words.length;
      this.found.both += both.length;
    }
  }

  private async hits(given: object, count = IDS): Promise<ScoredHit[]> {
    const { search } = schema.parse({ ...given, explain: true });
    return (await this.started.service.search.search('c', search)).hits.slice(0, count).map(({ ...hit }) => hit);
  }

  private passing(clauses: readonly Clause[]): Map<string, Item> {
    return new Map(
      [...this.items].filter(([, item]) =>
        clauses.every(
          (clause) => clause.occurs === 'may' || this.hasClause(item, clause) === (clause.occurs === 'must'),
        ),
      ),
    );
  }

  /** By keywords, from the definition of the query. */
  private ranked(clauses: readonly Clause[], options: Options, passing: Map<string, Item>): Map<string, number> {
    const documents = [...this.items.values()].map((item) => this.bagOf(item));
    const { field_weights: asked } = options;
    // Of a field without weight, nothing is counted.
    const counted = [...this.items.values()].map((item) => this.bagOf(item, asked));
    const { units, terms, filters } = this.unitsOf(clauses, options, documents, counted);
    const optional = units.filter(({ isOptional }) => isOptional).length;
    const { match = 'any' } = options;
    const byDefault = Math.min(optional, units.length > optional ? 0 : 1);
    const minimum = match === 'all' ? optional : match === 'any' ? byDefault : Math.ceil(optional * match.at_least);
    const statistics = {
      documentCount: counted.filter(({ length }) => length > 0).length,
      totalLength: counted.reduce((sum, { length }) => sum + length, 0),
      documentFrequencies: terms.map((term) => counted.filter((document) => document.includes(term)).length),
    };
    const scored = [...passing].flatMap(([id, item]): [string, number][] => {
      const score = plainPlanScore(this.bagOf(item, asked), terms, { units, minimum }, statistics, (_, place) =>
        this.hasClause(item, filters.get(place) ?? null),
      );
      return score === null ? [] : [[id, score]];
    });
    return new Map(scored);
  }

  /** `filters`: by the place of a unit, the clause that an item must have. */
  private unitsOf(
    clauses: readonly Clause[],
    { fuzzy = 0, prefix_last: prefixLast = false }: Options,
    documents: readonly (readonly string[])[],
    counted: readonly (readonly string[])[],
  ): { units: KeywordUnit[]; terms: string[]; filters: Map<number, Clause> } {
    const terms: string[] = [];
    const place = (term: string): number => (terms.includes(term) ? terms.indexOf(term) : terms.push(term) - 1);
    interface Unit {
      words: string[];
      isOptional: boolean;
      clause: Clause | null;
      begins: boolean;
      edits: number;
      /** Whether a hit must have it, or a field must, so that near words count however frequent the word is. */
      isAsked: boolean;
    }
    const units: Unit[] = [];
    const unit = (words: string[], isOptional = true) =>
      units[units.push({ words, isOptional, clause: null, begins: false, edits: 0, isAsked: false }) - 1];
    const positive = clauses.filter(({ occurs }) => occurs !== 'not');
    const isOfBag = ({ isOfTitle, stands, near }: Clause) => !isOfTitle && stands === undefined && near === undefined;
    const bag = positive.filter(isOfBag);
    const must = new Set(bag.flatMap(({ occurs, words }) => (occurs === 'must' ? words : [])));
    for (const word of new Set(bag.flatMap(({ words }) => words)))
      unit([word], !must.has(word)).edits = must.has(word) ? 0 : editsOf(fuzzy, word);
    const single = (word: string) =>
      units.find(
        ({ words, clause, isAsked }) => clause === null && !isAsked && words.length === 1 && words[0] === word,
      );
    for (const clause of positive) {
      const { occurs, words, isOfTitle, stands, near } = clause;
      const isAsked = occurs === 'must' || isOfTitle;
      if (stands === undefined) {
        if (isOfTitle || near !== undefined) unit([...new Set(words)], occurs === 'may').clause = clause;
        continue;
      }
      const others = words.slice(0, -1).filter((word) => !isAsked || (!isOfTitle && word !== words.at(-1)));
      for (const word of others) if (single(word) === undefined) unit([word], !isAsked);
      const last = unit([words.at(-1)!], occurs === 'may');
      last.isAsked = isAsked;
      if (isOfTitle && occurs === 'may') last.clause = clause;
      last.begins = stands === 'prefix';
      last.edits = stands === 'prefix' ? 0 : editsOf(stands, last.words[0]);
    }
    const last = clauses.at(-1)!;
    if (prefixLast && last.occurs === 'may' && isOfBag(last)) {
      const word = last.words.at(-1)!;
      const known = units.find(
        ({ words, isOptional, clause }) => isOptional && clause === null && words.length === 1 && words[0] === word,
      );
      (known ?? unit([word])).begins = true;
    }
    const filters = new Map<number, Clause>();
    const found = units.map(({ words, isOptional, clause, begins, edits, isAsked }, i): KeywordUnit => {
      if (clause !== null) filters.set(i, clause);
      if (!begins && edits === 0) return { terms: words.map(place), isOptional };
      const [word] = words;
      const most = { term: word, after: '', limit: 1_000_000 };
      const isRare = counted.filter((document) => document.includes(word)).length <= 1;
      const near =
        (isRare || isAsked) && edits > 0 ? plainExpansions(documents, { ...most, by: edits as 1 | 2 }).terms : [];
      const begun = begins ? plainExpansions(documents, { ...most, by: 'prefix' }).terms : [];
      const factorOf = (one: string): number =>
        begun.includes(one) ? 1 : 1 - plainEdits(word, one) / Math.min(word.length, one.length);
      // What has no letter in common is no slip.
      const others = [...new Set([...near, ...begun])].filter((one) => one !== word && factorOf(one) > 0);
      this.found.others += others.length;
      if (others.length === 0) return { terms: [place(word)], isOptional };
      const factors = others.map(factorOf);
      return { terms: [word, ...others].map(place), factors: [1, ...factors], isOptional };
    });
    return { units: found, terms, filters };
  }

  /** Whether an item has the words of a clause where it asks for them; null asks for nothing. */
  private hasClause(item: Item, clause: Clause | null): boolean {
    if (clause === null) return true;
    const { words, isOfTitle, near, stands } = clause;
    const lines = (isOfTitle ? [item.title ?? ''] : this.linesOf(item)).map((line) => analyser.terms(line));
    if (near !== undefined) return lines.some((line) => plainHasPhrase(words, near, line));
    if (stands === undefined) return words.every((word) => lines.some((line) => line.includes(word)));
    const last = words.at(-1)!;
    const edits = stands === 'prefix' ? 0 : editsOf(stands, last);
    const isNear = (one: string): boolean => plainEdits(last, one) <= edits && !isAnother(last, one);
    return (
      words.slice(0, -1).every((word) => lines.some((line) => line.includes(word))) &&
      lines.some((line) => line.some((one) => (stands === 'prefix' ? one.startsWith(last) : isNear(one))))
    );
  }

  private bagOf(item: Item, asked: Record<string, number> = {}): readonly string[] {
    return analyser.terms(this.linesOf(item, asked).join(' '));
  }

  /** Of one field, or of all; one may count nothing. */
  private weights(fields: KeywordFields): Record<string, number> {
    const some = fields.filter((_, i) => i === 0 || this.below(2) === 0);
    return Object.fromEntries(some.map(({ path }, i) => [path, i === 0 ? 1 + this.below(20) : this.below(4)]));
  }

  /** As often as they weigh. */
  private linesOf({ text, title = '' }: Item, asked: Record<string, number> = {}): string[] {
    if (this.fields === undefined) return title === text ? [text] : [text, title];
    return this.fields.flatMap(({ path, weight }) =>
      Array.from({ length: asked[path] ?? weight }, () => (path === 'text' ? text : title)),
    );
  }

  private clause(isSimple: boolean): Clause {
    const occurs = isSimple ? this.pick(['may', 'may', 'may', 'must', 'not'] as const) : 'may';
    // Words that are joined by a hyphen are of one clause.
    const words = Array.from({ length: isSimple && this.below(5) === 0 ? 2 : 1 }, () => this.asked());
    // What must be there is mostly frequent, so that something is found.
    if (occurs === 'must' && this.below(4) > 0) words[0] = this.pick(WORDS.slice(0, 3));
    const isOfTitle = isSimple && this.below(4) === 0;
    const stands = this.pick([undefined, 'prefix', 'prefix', 'auto', 0, 1, 2] as const);
    const takesSign = isSimple && stands !== undefined;
    if (isSimple && this.below(4) === 0) {
      const whole = [...words, this.pick(WORDS.slice(0, 6)), ...(this.below(3) === 0 ? [this.word()] : [])];
      // Mostly of frequent words, so that something is found.
      if (this.below(3) > 0) whole[0] = this.pick(WORDS.slice(0, 6));
      return { occurs, words: whole, isOfTitle, near: this.pick([0, 0, 1, 3]) };
    }
    return { occurs, words, isOfTitle, ...(takesSign && { stands }) };
  }

  private written({ occurs, words, isOfTitle, stands, near }: Clause): string {
    const sign = { may: '', must: '+', not: '-' }[occurs];
    const end = stands === undefined ? '' : stands === 'prefix' ? '*' : stands === 'auto' ? '~' : `~${stands}`;
    const text = words.join('-').toUpperCase();
    const together = near === undefined ? text : `"${text}"${near === 0 ? '' : `~${near}`}`;
    return `${sign}${isOfTitle ? 'title:' : ''}${together}${end}`;
  }

  /** A word, or the beginning of one, or a slip of one. */
  private asked(): string {
    const word = this.word();
    if (this.below(2) > 0 || word.length < 3) return word;
    const at = this.below(word.length);
    return this.pick([
      word.slice(0, 2),
      word.slice(0, at) + word.slice(at + 1),
      `${word.slice(0, at)}q${word.slice(at)}`,
    ]);
  }

  private words(most: number): string {
    return Array.from({ length: this.below(most) }, () => this.word()).join(' ');
  }

  private word(): string {
    return WORDS[Math.floor(WORDS.length ** this.random()) - 1];
  }

  private id(): string {
    return `item-${this.below(IDS)}`;
  }

  private below(bound: number): number {
    return Math.floor(this.random() * bound);
  }

  private pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)];
  }
}

/** What has no letter in common is no slip. */
function isAnother(word: string, other: string): boolean {
  return word !== other && plainEdits(word, other) >= Math.min(word.length, other.length);
}

function editsOf(fuzzy: Fuzziness, word: string): number {
  return fuzzy === 'auto' ? (word.length <= 3 ? 0 : word.length <= 7 ? 1 : 2) : fuzzy;
}

function idsOf(hits: readonly { externalId: string }[]): string[] {
  return hits.map(({ externalId }) => externalId);
}

test('what a query with signs finds is the same over 1, 2 and 5 shards and after a restart, to the last digit', async () => {
  const stories: Story[] = [];
  for (const shards of [1, 2, 5]) {
    const story = await Story.begin(shards);
    await story.write(400);
    // Over two shards, all phrases are looked for in texts.
    if (shards !== 2) await story.makePositions();
    await story.ask(50);
    await story.write(60);
    await story.ask(20);
    await story.restart();
    await story.ask(20);
    if (shards === 5) await story.makePositions();
    await story.write(30);
    await story.ask(20);
    stories.push(story);
  }
  const [one, ...others] = stories;
  for (const { told } of others) expect(told).toEqual(one.told);
  expect(one.found.words).toBeGreaterThan(1_000);
  expect(one.found.both).toBeGreaterThan(one.found.words);
  expect(one.found.others).toBeGreaterThan(50);
  expect(one.found.phrases).toBeGreaterThan(50);
}, 900_000);

test.each([
  [
    'a title that weighs three times',
    [
      { path: 'title', weight: 3 },
      { path: 'text', weight: 1 },
    ],
  ],
  ['texts alone', [{ path: 'text', weight: 2 }]],
])('the same with keyword fields: %s', async (_, fields) => {
  const [one, many] = [await Story.begin(1, fields), await Story.begin(3, fields)];
  for (const story of [one, many]) {
    await story.write(300);
    if (story === many) await story.makePositions();
    await story.ask(30);
    await story.restart();
    await story.write(40);
    await story.ask(15);
  }
  expect(many.told).toEqual(one.told);
  expect(one.found.words).toBeGreaterThan(300);
  expect(one.found.both).toBeGreaterThan(one.found.words);
  expect(one.found.phrases).toBeGreaterThan(10);
});

test('fields that are changed: the present index answers until the new one is whole, through writes and a restart', async () => {
  const stories: Story[] = [];
  for (const shards of [1, 2, 5]) {
    const story = await Story.begin(shards);
    await story.write(200);
    await story.ask(10);
    await story.reindex([
      { path: 'title', weight: 3 },
      { path: 'text', weight: 1 },
    ]);
    await story.reindex([{ path: 'title', weight: 2 }]);
    await story.reindex(null);
    stories.push(story);
  }
  const [one, ...others] = stories;
  for (const { told } of others) expect(told).toEqual(one.told);
  expect(one.found.words).toBeGreaterThan(500);
}, 900_000);

/** A service whose collection "c" has the texts, by their places. */
async function serviceWith(
  texts: readonly string[],
  given: { shards: number; language?: 'en' },
): Promise<PlainService> {
  const node = await new ShardNode({ factories: graphFactories('int8'), openStore: openRocksStore }).start();
  nodes.push(node);
  const started = await plainService({ shardClient: node.client });
  await started.service.collections.create(newCollection('c', { dim: 2, metric: 'cosine', ...given }));
  const source = { vector: Float32Array.of(1, 1) };
  await started.service.vectors.upsert(
    'c',
    texts.map((text, i): VectorInput => ({ externalId: `${i}`, source, metadata: '{}', text })),
  );
  return started;
}

test('a word that must be there stands for more words than are cut by frequency, over 1, 2 and 5 shards', async () => {
  const texts = Array.from({ length: 240 }, (_, i) =>
    i % 3 === 0 ? `pump${i % 160} pump${(i * 7) % 160} of iron` : i % 3 === 1 ? `iron pimp${i}` : 'iron alone',
  );
  const documents = texts.map((text) => analyser.terms(text));
  const statistics = { documentCount: texts.length, totalLength: documents.flat().length };
  const told: ScoredHit[][] = [];
  for (const shards of [1, 2, 5]) {
    const { service } = await serviceWith(texts, { shards });
    const find = async (query: string, alpha: number): Promise<ScoredHit[]> => {
      const body = {
        query_text: query,
        query_syntax: 'simple',
        vector: [1, 1],
        alpha,
        k: 240,
        exact: true,
        explain: true,
      };
      return (await service.search.search('c', schema.parse(body).search)).hits.map(({ ...hit }) => hit);
    };
    const having = (start: string) => texts.flatMap((text, i) => (text.includes(start) ? [`${i}`] : []));
    for (const alpha of [0, 0.5, 1]) {
      expect(idsOf(await find('+pump*', alpha)).sort()).toEqual(having('pump').sort());
      expect(idsOf(await find('iron -pump*', alpha)).sort()).toEqual(
        texts.flatMap((text, i) => (text.includes('pump') ? [] : [`${i}`])).sort(),
      );
      expect(idsOf(await find('+pump1~2', alpha)).sort()).toEqual(
        documents.flatMap((terms, i) => (terms.some((term) => plainEdits('pump1', term) <= 2) ? [`${i}`] : [])).sort(),
      );
    }
    // As one word: each time of any counts, with the frequency of the most frequent one.
    const hits = await find('+pump*', 0);
    const terms = [...new Set(documents.flat())].filter((term) => term.startsWith('pump'));
    const documentFrequencies = terms.map((term) => documents.filter((document) => document.includes(term)).length);
    const units = [{ terms: terms.map((_, i) => i), factors: terms.map(() => 1), isOptional: false }];
    for (const { externalId, explanation } of hits)
      expect(explanation![1].score).toBeCloseTo(
        plainPlanScore(
          documents[Number(externalId)],
          terms,
          { units, minimum: 0 },
          { ...statistics, documentFrequencies },
          () => true,
        )!,
        9,
      );
    told.push([...hits, ...(await find('+pump1~2 iron', 0))]);
  }
  expect(told[1]).toEqual(told[0]);
  expect(told[2]).toEqual(told[0]);
}, 900_000);

test('a word that must be there is itself none of those that are cut by frequency, nor is what has no letter of it', async () => {
  // The words themselves and those without a letter in common are the most frequent ones.
  const texts = [
    ...Array.from({ length: 20 }, () => 'pump ox'),
    ...Array.from({ length: 200 }, (_, i) => `pump${i}`),
    ...[...'abcdefghijklmnpqrstuvwyz'].flatMap((letter) => [`${letter}x`, `o${letter}`, `ox${letter}`, `${letter}ox`]),
    ...Array.from({ length: 5 }, () => 'ab cd gh ij kl mn'),
  ];
  const documents = texts.map((text) => analyser.terms(text));
  const told: ScoredHit[][] = [];
  for (const shards of [1, 2, 5]) {
    const { service } = await serviceWith(texts, { shards });
    const found: ScoredHit[] = [];
    for (const [word, sign, isMeant] of [
      ['pump', '*', (term: string) => term.startsWith('pump')],
      ['ox', '~2', (term: string) => plainEdits('ox', term) <= 2 && !isAnother('ox', term)],
    ] as const) {
      const meant = documents.flatMap((terms, i) => (terms.some(isMeant) ? [`${i}`] : []));
      expect(new Set(documents.flat().filter(isMeant)).size).toBeGreaterThan(50);
      const body = { query_text: `+${word}${sign}`, query_syntax: 'simple', vector: [1, 1], alpha: 0, k: 300 };
      const { hits } = await service.search.search('c', schema.parse({ ...body, explain: true }).search);
      expect(
        hits.flatMap(({ externalId, explanation }) => (explanation![1].score === null ? [] : [externalId])).sort(),
      ).toEqual(meant.sort());
      found.push(...hits.map(({ ...hit }) => hit));
    }
    // Written twice, the word itself is needed, too.
    for (const [sign, passing] of [
      ['+', documents.flatMap((terms, i) => (terms.includes('pump') ? [`${i}`] : []))],
      ['-', documents.flatMap((terms, i) => (terms.includes('pump') ? [] : [`${i}`]))],
    ] as const) {
      const body = { query_text: `${sign}pump-pump* cd`, query_syntax: 'simple', vector: [1, 1], k: 400, exact: true };
      const { hits } = await service.search.search('c', schema.parse(body).search);
      expect(hits.map(({ externalId }) => externalId).sort()).toEqual([...passing].sort());
    }
    told.push(found);
  }
  expect(told[1]).toEqual(told[0]);
  expect(told[2]).toEqual(told[0]);
}, 900_000);

test('of a language, words begin like the stem or like what is written, over 1, 2 and 5 shards', async () => {
  // Stems: citi, cityscap, citywid, citizen; bodi, bodyguard; pump.
  const texts = [
    'a city',
    'the cities',
    'cityscapes',
    'citywide',
    'citizens',
    'circus',
    'a body',
    'bodyguards',
    'pumps',
    'pumping',
    ...Array.from({ length: 120 }, (_, i) => (i % 2 === 0 ? `city${i}` : `citi${i}`)),
  ];
  const idsWith = (...starts: string[]): string[] =>
    texts.flatMap((text, i) => (starts.some((start) => text.includes(start)) ? [`${i}`] : [])).sort();
  const told: ScoredHit[][] = [];
  for (const shards of [1, 2, 5]) {
    const { service } = await serviceWith(texts, { shards, language: 'en' });
    const find = async (query: string, alpha = 0): Promise<ScoredHit[]> => {
      const body = { query_text: query, query_syntax: 'simple', vector: [1, 1], alpha, k: 200, exact: true };
      const { hits } = await service.search.search('c', schema.parse({ ...body, explain: true }).search);
      return hits.map(({ ...hit }) => hit);
    };
    const found: ScoredHit[] = [];
    for (const [query, ids] of [
      ['+city*', idsWith('city', 'citi')],
      ['+cities*', idsWith('citi', 'a city')],
      ['+body*', idsWith('body')],
      ['body*', idsWith('body')],
      ['+pumps*', idsWith('pump')],
    ] as const) {
      const hits = await find(query);
      const own = hits.filter(({ explanation }) => explanation![1].score !== null);
      expect([query, idsOf(own).sort()]).toEqual([query, ids]);
      found.push(...hits);
    }
    expect(idsOf(await find('circus -city*', 1)).sort()).toEqual(
      texts
        .map((_, i) => `${i}`)
        .filter((id) => !idsWith('city', 'citi').includes(id))
        .sort(),
    );
    told.push(found);
  }
  expect(told[1]).toEqual(told[0]);
  expect(told[2]).toEqual(told[0]);
}, 900_000);
