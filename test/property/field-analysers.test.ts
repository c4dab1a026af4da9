import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ONLY_DRIVER } from '../../coordinator/jobs/driving/owned-entry';
import { hybridSearchBody } from '../../coordinator/api/schema/search-schemas';
import type { ScoredHit, VectorInput } from '../../coordinator/service/service';
import { readConfig } from '../../shared/base/config/config';
import { QuiverError } from '../../shared/base/errors/quiver-error';
import { analyserNamed } from '../../node/engine/keyword/marked-analyser';
import type { AnalyserName, Language } from '../../shared/base/text/language';
import type { WordsCondition } from '../../shared/contract/filter/filter';
import type { KeywordFields } from '../../shared/contract/shard/keyword-fields';
import type { ShardClient } from '../../shared/contract/shard/shard-client';
import { eventually } from '../support/eventually';
import { plainEdits } from '../support/models/plain-expansions';
import { plainHasPhrase } from '../support/models/plain-phrase';
import { readOnce, type ReadTexts } from '../support/models/read-once';
import { newCollection, type PlainService, plainService } from '../support/shards/plain-service';
import { graphFactories, openRocksStore, ShardNode } from '../support/shards/shard-node';
import { runSeed, seededRandom } from '../support/values/random';

/**
 * Collections of which fields have analysers of their own, through the whole service, against a plain reading of what
 * docs/architecture/text.md says of them.
 */

const IDS = 200;
const seed = runSeed('field analysers');
const schema = hybridSearchBody(readConfig({}, 1));

/** Words of English and German with the same stems, others, and stop words of one of them that count in the other. */
const WORDS =
  'die war hard house houses housing haus häuser hunde hund dog dogs running runs art arten gift gifts was an und the of not hat hats der in am also den'.split(
    ' ',
  );
const FIELDS: KeywordFields = [
  { path: 'en', weight: 2, analyser: 'en' },
  { path: 'de', weight: 3, analyser: 'de' },
  { path: 'code', weight: 1, analyser: 'unicode' },
  { path: 'text', weight: 1 },
];
const PATHS = ['en', 'de', 'code'] as const;

let nodes: ShardNode[] = [];

afterEach(async () => {
  for (const node of nodes) await node.destroy();
  nodes = [];
});

const texts = new Map<AnalyserName, ReadTexts>();

function textsBy(name: AnalyserName): ReadTexts {
  let known = texts.get(name);
  if (known === undefined) texts.set(name, (known = readOnce(analyserNamed(name))));
  return known;
}

/** By path; `text` is the text. */
type Item = Record<'text' | (typeof PATHS)[number], string>;
type Match = 'any' | 'all' | { at_least: number };

interface Clause {
  occurs: 'may' | 'must' | 'not';
  words: string[];
  path?: (typeof PATHS)[number];
  near?: number;
  stands?: 'prefix' | 1;
}

/** What one analyser makes of a word. */
interface Variant {
  by: AnalyserName;
  term: string;
}

/** The same steps for each number of shards. */
class Story {
  private readonly random = seededRandom(seed);
  private readonly items = new Map<string, Item>();
  readonly told: unknown[] = [];
  readonly found = { hits: 0, free: 0, phrases: 0, varied: 0 };
  private isHeld = false;
  private heldCount = 0;

  private constructor(
    private readonly node: ShardNode,
    private started: PlainService,
    private readonly language: Language | null,
    private fields: KeywordFields,
  ) {}

  static async begin(shards: number, language: Language | null, fields: KeywordFields = FIELDS): Promise<Story> {
    const node = await new ShardNode({ factories: graphFactories('int8'), openStore: openRocksStore }).start();
    nodes.push(node);
    const started = await plainService({ shardClient: node.client });
    const given = { dim: 2, metric: 'cosine' as const, shards, keywordFields: fields };
    await started.service.collections.create(newCollection('c', { ...given, ...(language !== null && { language }) }));
    return new Story(node, started, language, fields);
  }

  async restart(): Promise<void> {
    this.started.service.close();
    await this.node.restart();
    this.started = await plainService({ store: this.started.store, shardClient: this.client() });
  }

  /** Other fields, while writes go on; the process ends in between. */
  async reindex(fields: KeywordFields): Promise<void> {
    this.isHeld = true;
    await this.restart();
    const { job } = await this.started.service.collections.update('c', { keywordFields: fields });
    let driver = await this.started.service.driveReshards(ONLY_DRIVER, 0);
    await eventually('it copies', () => this.heldCount > 0);
    await this.write(30);
    await this.ask(6);
    await driver.close();
    await this.restart();
    this.isHeld = false;
    driver = await this.started.service.driveReshards(ONLY_DRIVER, 0);
    await this.write(30);
    await eventually('it is done', async () => {
      const { keywordFields } = await this.started.service.collections.get('c');
      return JSON.stringify(keywordFields) === JSON.stringify(fields);
    });
    await driver.close();
    expect(await this.started.service.jobs.get(job!)).toMatchObject({ kind: 'reindex', state: 'done' });
    this.fields = fields;
    await this.ask(12);
    await this.restart();
    await this.ask(6);
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
    for (const collectionUid of readdirSync(folder))
      for (const name of readdirSync(join(folder, collectionUid)).filter((one) => /^\d+$/.test(one))) {
        const shard = await this.node.host.shard({ collectionUid, shard: Number(name) });
        await shard.read('optimize', null);
        await shard.settled();
        expect(readdirSync(join(folder, collectionUid, name, 'positions'))).not.toEqual([]);
      }
  }

  async write(count: number): Promise<void> {
    const ids = [...new Set(Array.from({ length: count }, () => this.id()))];
    await this.started.service.vectors.upsert(
      'c',
      ids.map((externalId): VectorInput => {
        const text = this.words(3);
        const fields = Object.fromEntries(PATHS.map((path) => [path, this.words(4)]));
        this.items.set(externalId, { text, ...fields } as Item);
        const source = { vector: Float32Array.of(1, this.random()) };
        return { externalId, source, metadata: JSON.stringify(fields), text };
      }),
    );
    const gone = Array.from({ length: Math.ceil(count / 10) }, () => this.id());
    await this.started.service.vectors.delete('c', gone);
    for (const id of gone) this.items.delete(id);
  }

  async ask(queries: number): Promise<void> {
    for (let i = 0; i < queries; i += 1) {
      const isSimple = this.below(2) === 0;
      const clauses = Array.from({ length: 1 + this.below(4) }, () => this.clause(isSimple));
      const match = this.pick<Match>(['any', 'all', 'all', { at_least: 0.5 }]);
      const asked = this.below(3) === 0 ? this.weights() : undefined;
      const body = {
        query_text: clauses.map((clause) => written(clause)).join(' '),
        query_syntax: isSimple ? 'simple' : 'plain',
        match,
        vector: [1, 1],
        k: IDS,
        ...(asked !== undefined && { field_weights: asked }),
      };
      const passing = new Map(
        [...this.items].filter(([, item]) =>
          clauses.every(
            ({ occurs, ...clause }) => occurs === 'may' || this.hasClause(item, clause) === (occurs === 'must'),
          ),
        ),
      );
      const wanted = this.ranked(clauses, match, passing, asked);
      const words = await this.hits({ ...body, alpha: 0 });
      expect({ body, ids: idsOf(words) }).toEqual({ body, ids: [...wanted.keys()].sort() });
      for (const { externalId, explanation } of words)
        if (!(Math.abs(explanation![1].score! - wanted.get(externalId)!) < 1e-9))
          throw new Error(
            `${JSON.stringify(body)}: ${externalId} ${JSON.stringify(this.items.get(externalId))} has ${explanation![1].score}, not ${wanted.get(externalId)}`,
          );
      const both = await this.hits({ ...body, exact: true });
      expect({ body, both: idsOf(both) }).toEqual({ body, both: [...passing.keys()].sort() });
      this.told.push(words, both);
      this.found.hits += words.length;
      await this.count();
    }
  }

  /** `$text` of a filter. */
  private async count(): Promise<void> {
    const words = Array.from({ length: 1 + this.below(3) }, () => this.pick(WORDS));
    const paths = this.below(2) === 0 ? undefined : PATHS.filter(() => this.below(2) === 0);
    if (paths?.length === 0) return;
    const match = this.pick(['any', 'all'] as const);
    const condition: WordsCondition = { type: 'words', query: words.join(' '), match, ...(paths && { paths }) };
    const having = [...this.items.values()].filter((item) => this.has(item, words, match, paths));
    expect({ condition, count: await this.started.service.search.count('c', condition) }).toEqual({
      condition,
      count: having.length,
    });
    expect(await this.started.service.search.count('c', { type: 'not', filter: condition })).toBe(
      this.items.size - having.length,
    );
  }

  private async hits(given: object): Promise<ScoredHit[]> {
    const { search } = schema.parse({ ...given, explain: true });
    return (await this.started.service.search.search('c', search)).hits.map(({ ...hit }) => hit);
  }

  private nameOf({ analyser }: KeywordFields[number]): AnalyserName {
    return analyser ?? this.language ?? 'unicode';
  }

  /** In the order of the fields. */
  private names(): AnalyserName[] {
    return [...new Set(this.fields.map((field) => this.nameOf(field)))];
  }

  private linesBy(item: Item, by: AnalyserName, paths?: readonly string[]): string[] {
    if (paths === undefined)
      return this.fields.flatMap((field) => (this.nameOf(field) === by ? [item[field.path as keyof Item]] : []));
    return paths.flatMap((path) => (this.nameOfPath(path) === by ? [item[path as keyof Item]] : []));
  }

  private nameOfPath(path: string): AnalyserName {
    return this.nameOf(this.fields.find((field) => field.path === path) ?? { path, weight: 1 });
  }

  /** How often an item has a term in the fields of its analyser, by their weights. */
  private times(item: Item, { by, term }: Variant, asked: Record<string, number> = {}): number {
    return this.fields.reduce(
      (sum, field) =>
        this.nameOf(field) !== by
          ? sum
          : sum +
            (asked[field.path] ?? field.weight) *
              textsBy(by)
                .terms(item[field.path as keyof Item])
                .filter((one) => one === term).length,
      0,
    );
  }

  private isIn(item: Item, { by, term }: Variant, paths?: readonly string[]): boolean {
    return this.linesBy(item, by, paths).some((line) => textsBy(by).terms(line).includes(term));
  }

  /** By word, what each analyser makes of it where it counts, and who leaves it out. */
  private unitsOf(words: readonly string[], names = this.names()): { variants: Variant[]; leftOut: AnalyserName[] }[] {
    return words.map((word) => {
      const variants = names.flatMap((by) => {
        const analyser = textsBy(by);
        const counts = analyser.termsToFind(words.join(' ')).includes(analyser.terms(word)[0]);
        const isStop = analyser.isStopWord(word) && words.some((one) => !analyser.isStopWord(one));
        return counts && !isStop ? [{ by, term: analyser.terms(word)[0] }] : [];
      });
      return { variants, leftOut: names.filter((by) => variants.every((one) => one.by !== by)) };
    });
  }

  /** Whether an item has a word, or need not have it because of another of the words in fields that leave it out. */
  private hasUnit(
    item: Item,
    { variants, leftOut }: { variants: Variant[]; leftOut: AnalyserName[] },
    all: readonly { variants: Variant[] }[],
    paths?: readonly string[],
    isIn = (variant: Variant) => this.isIn(item, variant, paths),
  ): boolean {
    if (variants.some(isIn)) return true;
    const isFree = all.some((unit) => unit.variants.some((variant) => leftOut.includes(variant.by) && isIn(variant)));
    if (isFree) this.found.free += 1;
    return isFree;
  }

  private has(item: Item, words: readonly string[], match: 'any' | 'all', paths?: readonly string[]): boolean {
    const names = paths === undefined ? this.names() : [...new Set(paths.map((path) => this.nameOfPath(path)))];
    const units = this.unitsOf(words, names);
    if (match === 'any') return units.some(({ variants }) => variants.some((one) => this.isIn(item, one, paths)));
    return units.every((unit) => this.hasUnit(item, unit, units, paths));
  }

  private hasClause(item: Item, { words, path, near, stands }: Omit<Clause, 'occurs'>): boolean {
    const paths = path === undefined ? undefined : [path];
    const names = path === undefined ? this.names() : [this.nameOfPath(path)];
    if (near !== undefined)
      return names.some((by) =>
        this.linesBy(item, by, paths).some((line) =>
          plainHasPhrase(textsBy(by).terms(words.join(' ')), near, textsBy(by).terms(line)),
        ),
      );
    if (stands === undefined) return this.has(item, words, 'all', paths);
    const [word] = words;
    return names.some((by) => this.linesBy(item, by, paths).some((line) => this.variedIn(line, by, word, stands) > 0));
  }

  /** How often a line has what a word stands for. */
  private variedIn(line: string, by: AnalyserName, word: string, stands: 'prefix' | 1): number {
    return textsBy(by)
      .terms(line)
      .reduce((sum, one) => sum + factorOf(by, word, stands, one), 0);
  }

  /** By keywords, from the definition of the query. */
  private ranked(
    clauses: readonly Clause[],
    match: Match,
    passing: ReadonlyMap<string, Item>,
    asked: Record<string, number> | undefined,
  ): Map<string, number> {
    const items = [...this.items.values()];
    const lengthOf = (item: Item) =>
      this.fields.reduce(
        (sum, field) =>
          sum +
          (asked?.[field.path] ?? field.weight) *
            textsBy(this.nameOf(field)).terms(item[field.path as keyof Item]).length,
        0,
      );
    const documents = items.filter((item) => lengthOf(item) > 0);
    const average = documents.reduce((sum, item) => sum + lengthOf(item), 0) / documents.length;
    const idfOf = (variant: Variant): number => {
      const having = documents.filter((item) => this.times(item, variant, asked) > 0).length;
      return Math.log(1 + (documents.length - having + 0.5) / (having + 0.5));
    };
    /** `frequency` 0: it does not have it. `counts`: towards the minimum. */
    const units: {
      idf: number;
      frequency: (item: Item) => number;
      isOptional: boolean;
      has: (item: Item) => boolean;
    }[] = [];
    const positive = clauses.filter(({ occurs }) => occurs !== 'not');
    const bag = positive.filter(
      ({ path, near, stands }) => path === undefined && near === undefined && stands === undefined,
    );
    const words = this.unitsOf(bag.flatMap((clause) => clause.words));
    const mustWords = new Set<string>();
    const keyOf = ({ variants }: { variants: Variant[] }) => variants.map(({ by, term }) => `${by} ${term}`).join();
    let at = 0;
    for (const { occurs, words: own } of bag)
      for (const _ of own)
        if (occurs === 'must') mustWords.add(keyOf(words[at++]));
        else at++;
    const met = new Set<string>();
    for (const unit of words) {
      const key = keyOf(unit);
      if (unit.variants.length === 0 || met.has(key)) continue;
      met.add(key);
      const isIn = (item: Item) => (variant: Variant) => this.times(item, variant, asked) > 0;
      units.push({
        idf: Math.min(...unit.variants.map(idfOf)),
        frequency: (item) => unit.variants.reduce((sum, variant) => sum + this.times(item, variant, asked), 0),
        // Of a share of the words, those that some leave out are none.
        isOptional: !mustWords.has(key) && (typeof match === 'string' || unit.leftOut.length === 0),
        has: (item) =>
          match === 'any' ? unit.variants.some(isIn(item)) : this.hasUnit(item, unit, words, undefined, isIn(item)),
      });
    }
    for (const clause of positive) {
      const { words: own, path, near, stands, occurs } = clause;
      if (path === undefined && near === undefined && stands === undefined) continue;
      const names = path === undefined ? this.names() : [this.nameOfPath(path)];
      const isOptional = occurs === 'may';
      if (stands !== undefined) {
        const terms = names.flatMap((by) => this.variedTerms(by, own[0], stands, clause, asked));
        if (terms.length === 0) continue;
        const frequency = (item: Item) =>
          path !== undefined && isOptional && !this.hasClause(item, clause)
            ? 0
            : terms.reduce((sum, one) => sum + one.factor * this.times(item, one, asked), 0);
        this.found.varied += items.filter((item) => frequency(item) > 0).length;
        units.push({ idf: Math.min(...terms.map(idfOf)), frequency, isOptional, has: (item) => frequency(item) > 0 });
        continue;
      }
      // In all fields of the analyser; each way is passed by what has the phrase there.
      const ways = names.map((by) => {
        const terms = [...new Set(textsBy(by).termsToFind(own.join(' ')))].map((term) => ({ by, term }));
        const mayHave = (item: Item) => (!isOptional && names.length === 1) || this.hasIn(item, by, clause);
        return {
          idf: terms.reduce((sum, one) => sum + idfOf(one), 0),
          frequency: (item: Item) =>
            mayHave(item) ? Math.min(...terms.map((one) => this.times(item, one, asked))) : 0,
        };
      });
      const frequency = (item: Item) => ways.reduce((sum, way) => sum + way.frequency(item), 0);
      this.found.phrases += items.filter((item) => frequency(item) > 0).length;
      // A way of one word is one term; of several ways, the most frequent one says how rare it is.
      units.push({
        idf: Math.min(...ways.map(({ idf }) => idf)),
        frequency,
        isOptional,
        has: (item) => frequency(item) > 0,
      });
    }
    const optional = units.filter(({ isOptional }) => isOptional).length;
    const minimum =
      match === 'all'
        ? optional
        : match === 'any'
          ? Math.min(optional, units.length > optional ? 0 : 1)
          : Math.min(optional, Math.max(1, Math.ceil(optional * match.at_least - 1e-9)));
    return new Map(
      [...passing].flatMap(([id, item]): [string, number][] => {
        const having = units.filter(({ isOptional, has }) => isOptional && has(item)).length;
        const score = units.reduce((sum, { idf, frequency }) => {
          const times = frequency(item);
          return times === 0
            ? sum
            : sum + (idf * times * 2.2) / (times + 1.2 * (0.25 + (0.75 * lengthOf(item)) / average));
        }, 0);
        return having < minimum || units.every(({ frequency }) => frequency(item) === 0) ? [] : [[id, score]];
      }),
    );
  }

  /** Whether the fields of one analyser have what a clause without a sign asks for. */
  private hasIn(item: Item, by: AnalyserName, { words, path, near }: Clause): boolean {
    const paths = path === undefined ? undefined : [path];
    if (near === undefined) return this.has(item, words, 'all', paths);
    return this.linesBy(item, by, paths).some((line) =>
      plainHasPhrase(textsBy(by).terms(words.join(' ')), near, textsBy(by).terms(line)),
    );
  }

  /** What a word stands for in the fields of an analyser. */
  private variedTerms(
    by: AnalyserName,
    word: string,
    stands: 'prefix' | 1,
    { occurs, path }: Clause,
    asked: Record<string, number> | undefined,
  ): (Variant & { factor: number })[] {
    const all = new Set(
      [...this.items.values()].flatMap((item) => this.linesBy(item, by).flatMap((line) => textsBy(by).terms(line))),
    );
    const own = textsBy(by).terms(word)[0];
    // A word that is not rare stands for itself, unless all are asked for.
    const isAll = stands === 'prefix' || occurs === 'must' || path !== undefined;
    const names = path === undefined ? this.names() : [by];
    const isRare = names.every((name) => {
      const term = textsBy(name).terms(word)[0];
      return [...this.items.values()].filter((item) => this.times(item, { by: name, term }, asked) > 0).length <= 1;
    });
    all.add(own);
    return [...all].flatMap((term) => {
      const factor = term === own ? 1 : isAll || isRare ? factorOf(by, word, stands, term) : 0;
      return factor > 0 ? [{ by, term, factor }] : [];
    });
  }

  /** Of one field, or of all; one may count nothing. */
  private weights(): Record<string, number> {
    return Object.fromEntries(this.fields.map(({ path }, i) => [path, i === 0 ? 1 + this.below(4) : this.below(3)]));
  }

  private clause(isSimple: boolean): Clause {
    const occurs = isSimple ? this.pick(['may', 'may', 'must', 'not'] as const) : 'may';
    const word = this.pick(WORDS);
    if (!isSimple) return { occurs, words: [word] };
    const path = this.below(3) === 0 ? this.pick(PATHS) : undefined;
    const at = { occurs, ...(path !== undefined && { path }) };
    const kind = this.below(5);
    if (kind === 0) return { ...at, words: [word, this.pick(WORDS)], near: this.pick([0, 2]) };
    if (kind === 1) return { ...at, words: [word.slice(0, 2 + this.below(3))], stands: 'prefix' };
    if (kind === 2) return { ...at, words: [word.slice(0, -1) || word], stands: 1 };
    return { ...at, words: [word] };
  }

  private words(most: number): string {
    return Array.from({ length: this.below(most + 1) }, () => this.pick(WORDS)).join(' ');
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

/** As how many a term counts for a word that stands for others; 0: it does not. */
function factorOf(by: AnalyserName, word: string, stands: 'prefix' | 1, term: string): number {
  const own = textsBy(by).terms(word)[0];
  if (term === own) return 1;
  if (stands === 'prefix') {
    const typed = textsBy('unicode').terms(word)[0];
    const begins = own.startsWith(typed) ? [typed] : typed.startsWith(own) ? [own] : [own, typed];
    return begins.some((begin) => term.startsWith(begin)) ? 1 : 0;
  }
  const edits = plainEdits(own, term);
  return edits <= stands ? Math.max(0, 1 - edits / Math.min(own.length, term.length)) : 0;
}

function written({ occurs, words, path, near, stands }: Clause): string {
  const sign = { may: '', must: '+', not: '-' }[occurs];
  const text = near === undefined ? words.join('-') : `"${words.join(' ')}"${near === 0 ? '' : `~${near}`}`;
  return `${sign}${path === undefined ? '' : `${path}:`}${text}${stands === undefined ? '' : stands === 'prefix' ? '*' : '~1'}`;
}

function idsOf(hits: readonly { externalId: string }[]): string[] {
  return hits.map(({ externalId }) => externalId).sort();
}

test.each<[string, Language | null]>([
  ['none', null],
  ['English', 'en'],
])(
  'fields with analysers of their own over 1, 2 and 5 shards; language of the collection: %s',
  async (_, language) => {
    const stories: Story[] = [];
    for (const shards of [1, 2, 5]) {
      const story = await Story.begin(shards, language);
      await story.write(220);
      // Over two shards, all phrases are looked for in texts.
      if (shards !== 2) await story.makePositions();
      await story.ask(40);
      await story.restart();
      await story.write(40);
      await story.ask(20);
      stories.push(story);
    }
    const [one, ...others] = stories;
    for (const { told } of others) expect(told).toEqual(one.told);
    expect(one.found.hits).toBeGreaterThan(500);
    for (const count of Object.values(one.found)) expect(count).toBeGreaterThan(20);
  },
  900_000,
);

test('analysers that are changed: the present index answers until the new one is whole, through writes and a restart', async () => {
  const stories: Story[] = [];
  for (const shards of [1, 2, 5]) {
    const story = await Story.begin(shards, 'de', [
      { path: 'de', weight: 1 },
      { path: 'en', weight: 1 },
    ]);
    await story.write(150);
    await story.ask(6);
    await story.reindex([
      { path: 'de', weight: 2 },
      { path: 'en', weight: 1, analyser: 'en' },
    ]);
    await story.reindex([{ path: 'en', weight: 1, analyser: 'unicode' }]);
    stories.push(story);
  }
  const [one, ...others] = stories;
  for (const { told } of others) expect(told).toEqual(one.told);
  expect(one.found.hits).toBeGreaterThan(100);
}, 900_000);
