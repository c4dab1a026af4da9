import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bm25KeywordIndex } from '../../../../../node/engine/keyword/bm25-keyword-index';
import { phraseOf } from '../../../../../shared/base/text/phrase';
import { PhrasePositions } from '../../../../../node/engine/positions/phrase-positions';
import { ChunkedSlotSet } from '../../../../../node/engine/slots/chunked-slot-set';
import { defaultAnalyser } from '../../../../../shared/base/text/analyser';
import { plainHasPhrase } from '../../../../support/models/plain-phrase';
import type { Filter } from '../../../../../shared/contract/filter/filter';
import type { ShardSpec, WriteOperation } from '../../../../../shared/contract/shard/shard-client';
import { LogMemory, openRocksStore, plainFactories, ShardNode } from '../../../../support/shards/shard-node';
import { eventually } from '../../../../support/eventually';
import { runSeed, seededRandom } from '../../../../support/values/random';

const seed = runSeed('positions of words');
/** Few words, so that phrases are found; marks and Han characters among them. */
const WORDS = ['to', 'be', 'or', 'not', 'Été', 'naïve', '北', '京', 'x1'];

let folders: string[] = [];

afterEach(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  folders = [];
});

/** Items in slots, as a shard has them; each has two lines. */
class Items {
  readonly folder: string;
  readonly random = seededRandom(seed);
  readonly log = new LogMemory();
  readonly lines = new Map<number, { recno: number; lines: string[] }>();
  keywords = new Bm25KeywordIndex();
  textsRead = 0;
  store = 'store';
  /** Happens once, while texts are read. */
  during: (() => void) | null = null;
  /** Texts are there when it resolves. */
  held = Promise.resolve();
  private recno = 0;
  positions: PhrasePositions;

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'quiver-positions-'));
    folders.push(this.folder);
    this.positions = this.open();
  }

  private open(): PhrasePositions {
    const { lines } = this;
    const slots = {
      isLive: (slot: number) => lines.has(slot),
      recnoOf: (slot: number) => lines.get(slot)!.recno,
      liveSlots: () => [...lines.keys()],
      get liveCount() {
        return lines.size;
      },
    };
    return new PhrasePositions(
      this.folder,
      {
        slots,
        keywords: () => this.keywords,
        lines: async (wanted) => {
          this.textsRead += wanted.length;
          const { analyser } = this.keywords;
          const found = wanted.map((slot) => lines.get(slot)?.lines.map((line) => ({ line, analyser })) ?? null);
          const { during } = this;
          this.during = null;
          await this.held;
          during?.();
          return found;
        },
        stabilise: async () => undefined,
        store: async () => this.store,
      },
      this.log,
    );
  }

  async restart(): Promise<void> {
    await this.positions.close();
    // Terms get other numbers.
    const saved = Buffer.concat([...this.keywords.save()]);
    this.keywords = Bm25KeywordIndex.load(saved);
    this.positions = this.open();
  }

  put(slot: number, lines: string[]): void {
    this.remove(slot);
    this.keywords.put(slot, lines.join('\n'));
    this.lines.set(slot, { recno: ++this.recno, lines });
  }

  remove(slot: number): void {
    this.positions.remove(slot);
    this.keywords.remove(slot);
    this.lines.delete(slot);
  }

  putSome(count: number, slots: number): void {
    for (let i = 0; i < count; i++) {
      const slot = this.below(slots);
      if (this.below(5) === 0) this.remove(slot);
      else this.put(slot, [this.words(12), this.words(4)]);
    }
  }

  async make(): Promise<void> {
    this.positions.make();
    await this.positions.settled();
  }

  /** The files. */
  get files(): string[] {
    return readdirSync(this.folder).map((name) => join(this.folder, name));
  }

  words(most: number): string {
    return Array.from({ length: this.below(most) }, () => WORDS[this.below(WORDS.length)]).join(' ');
  }

  below(bound: number): number {
    return Math.floor(this.random() * bound);
  }

  /** Those of all that have a phrase, and those of which nothing is known. */
  async ask(query: string, near: number): Promise<{ found: number[]; undecided: number[] }> {
    const phrase = phraseOf(defaultAnalyser, query, near);
    const candidates = ChunkedSlotSet.fromArray([...this.lines.keys()]);
    const found: number[] = [];
    const undecided = await this.positions.decide(phrase, candidates, (slots) => found.push(...slots));
    return { found: found.sort((a, b) => a - b), undecided: [...undecided.toArray()] };
  }

  having(query: string, near: number, except: readonly number[]): number[] {
    const terms = defaultAnalyser.terms(query);
    return [...this.lines]
      .filter(([slot, { lines }]) => {
        if (except.includes(slot)) return false;
        return lines.some((line) => plainHasPhrase(terms, near, defaultAnalyser.terms(line)));
      })
      .map(([slot]) => slot)
      .sort((a, b) => a - b);
  }

  /** Compares some phrases with their definition; answers how many items positions told of. */
  async compare(phrases: number): Promise<{ found: number; undecided: number }> {
    let all = { found: 0, undecided: 0 };
    for (let i = 0; i < phrases; i++) {
      const query = Array.from({ length: 1 + this.below(4) }, () => WORDS[this.below(WORDS.length - 3)]).join(' ');
      const near = [0, 0, 1, 3, 1_000][this.below(5)];
      const { found, undecided } = await this.ask(query, near);
      expect({ query, near, found }).toEqual({ query, near, found: this.having(query, near, undecided) });
      all = { found: all.found + found.length, undecided: undecided.length };
    }
    return all;
  }
}

test('are those of the texts, over writes, removals and restarts, and no texts are read', async () => {
  const items = new Items();
  expect(await items.compare(3)).toEqual({ found: 0, undecided: items.lines.size });
  items.putSome(500, 300);
  await items.make();
  const without = [...items.lines.values()].filter(({ lines }) => lines.join('').trim() === '').length;
  items.textsRead = 0;
  expect((await items.compare(40)).undecided).toBe(without);
  for (let round = 0; round < 6; round++) {
    items.putSome(60, 320);
    const { found, undecided } = await items.compare(20);
    expect(found).toBeGreaterThan(100);
    expect(undecided).toBeGreaterThan(without);
    if (round % 2 === 0) await items.restart();
    await items.compare(20);
    if (round % 3 === 1) await items.make();
  }
  expect(items.textsRead).toBeLessThan(600);
});

test('are not known of a text that is written while they are made, of one with two terms of the same hash, and of few', async () => {
  const items = new Items();
  for (let slot = 0; slot < 6; slot++) items.put(slot, ['to be or not to be', '']);
  items.put(6, ['a liquid', 'costarring to be']);
  items.put(7, ['?!', '']);
  items.during = () => {
    items.put(1, ['to not be', 'to', 'be']);
    items.remove(2);
  };
  await items.make();
  expect(await items.ask('to be', 0)).toEqual({ found: [0, 3, 4, 5], undecided: [1, 6, 7] });
  for (const slot of [0, 6, 7]) items.remove(slot);
  expect(await items.ask('TO bé', 0)).toEqual({ found: [], undecided: [1, 3, 4, 5] });
  // Those that are made for the others take the few that are there.
  items.put(8, ['be', 'to be']);
  await items.make();
  expect(await items.ask('to be', 0)).toEqual({ found: [3, 4, 5, 8], undecided: [] });
  expect(items.files).toHaveLength(1);
});

test('of long texts with very many words are found, too', async () => {
  const items = new Items();
  const words = (from: number, count: number): string =>
    Array.from({ length: count }, (_, i) => `w${from + i}`).join(' ');
  // Several chunks of a file.
  for (let slot = 0; slot < 60; slot++) items.put(slot, [words(slot, 3_000), words(slot, 70 * (slot % 4))]);
  // More than have places.
  items.put(60, [words(0, 70_000)]);
  await items.make();
  expect(await items.ask('w2998 w2999 w3000', 0)).toEqual({
    found: Array.from({ length: 59 }, (_, i) => i + 1),
    undecided: [60],
  });
  expect(await items.ask('w72 w70 w0', 70)).toEqual({ found: [0], undecided: [60] });
  expect((await items.ask('w3058 w3057', 5)).found).toEqual([59]);
  expect(await items.ask('w2999 w1', 0)).toEqual({ found: [], undecided: [60] });
}, 900_000);

test('are in the folder of a shard once it was optimized, unless its specification says no', async () => {
  const node = await new ShardNode({ factories: plainFactories, openStore: openRocksStore }).start();
  try {
    for (const [collectionUid, more] of [
      ['with', {}],
      ['without', { keywordPositions: false }],
    ] as const) {
      const spec: ShardSpec = { collectionUid, shard: 0, dim: 2, metric: 'l2', ...more };
      await node.host.open(spec, { mustExist: false });
      const shard = await node.host.shard(spec);
      await shard.write(
        ['to be or not', 'be to'].map((text, i): WriteOperation => ({
          type: 'upsert',
          externalId: `i${i}`,
          vector: Float32Array.of(i, 1),
          stamp: i + 1,
          metadata: '{}',
          text,
        })),
      );
      const { diskBytes } = await shard.status();
      await shard.read('optimize', null);
      await shard.settled();
      const folder = join(node.folder, 'shards', collectionUid, '0', 'positions');
      expect({ collectionUid, has: existsSync(folder) }).toEqual({ collectionUid, has: collectionUid === 'with' });
      const { index, diskBytes: after } = await shard.status();
      expect(index!.optimizing).toBe(false);
      if (collectionUid === 'with') expect(after).toBeGreaterThan(diskBytes);
      const filter: Filter = { type: 'words', query: 'to be', match: 'phrase' };
      expect(await shard.read('matches', { filter })).toBe(1);
    }
  } finally {
    await node.destroy();
  }
});

describe('files of positions', () => {
  const some = async (): Promise<Items> => {
    const items = new Items();
    for (let slot = 0; slot < 100; slot++) items.put(slot, ['to be or not to be', 'a']);
    await items.make();
    await items.positions.close();
    return items;
  };

  test.each([
    ['cut', (bytes: Buffer) => bytes.subarray(0, bytes.length - 5)],
    ['empty', () => Buffer.alloc(0)],
    ['changed at its end', (bytes: Buffer) => changed(bytes, bytes.length - 40)],
    ['changed in its table', (bytes: Buffer) => changed(bytes, 5)],
    ['changed in its orders', (bytes: Buffer) => changed(bytes, 500)],
    ['longer', (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 9), bytes])],
  ])('that are %s are told, removed, and made anew when that is asked for', async (_, damage) => {
    const items = await some();
    const [file] = items.files;
    writeFileSync(file, damage(readFileSync(file)));
    await items.restart();
    expect((await items.ask('to be', 0)).undecided).toHaveLength(100);
    expect(items.log.lines).toMatchObject([{ level: 'warn', message: expect.stringMatching(/is removed$/) }]);
    expect(items.files).toEqual([]);
    await items.make();
    expect((await items.ask('to be', 0)).found).toHaveLength(100);
  });

  test('that are gone or not whole, of other records or of other terms are not used', async () => {
    const items = await some();
    const [file] = items.files;
    writeFileSync(`${file}.new`, readFileSync(file).subarray(0, 100));
    await items.restart();
    expect((await items.ask('not to', 0)).found).toHaveLength(100);
    expect(items.files).toEqual([file]);
    items.store = 'another one';
    await items.restart();
    expect((await items.ask('not to', 0)).undecided).toHaveLength(100);
    await items.make();
    rmSync(items.files[0]);
    await items.restart();
    expect((await items.ask('not to', 0)).undecided).toHaveLength(100);
  });

  test('have nothing of items that are gone once that is asked for, and are few', async () => {
    const items = await some();
    await items.restart();
    for (let slot = 100; slot < 130; slot++) {
      items.put(slot, ['to be', '']);
      await items.make();
    }
    expect(items.files.length).toBeLessThan(8);
    const [first] = items.files;
    items.remove(3);
    writeFileSync(`${first}.new`, 'what was begun');
    await items.positions.dropStale();
    await items.positions.settled();
    expect(items.files).not.toContain(first);
    expect(existsSync(`${first}.new`)).toBe(false);
    expect((await items.ask('to be', 0)).found).toHaveLength(129);
    expect(await items.positions.diskBytes).toBe(items.files.reduce((sum, name) => sum + readFileSync(name).length, 0));
  });

  test('that cannot be read now are left, and read later', async () => {
    const items = await some();
    const [file] = items.files;
    renameSync(file, `${file}.aside`);
    // Reading a folder is an error of the system.
    mkdirSync(file);
    await items.restart();
    expect((await items.ask('to be', 0)).undecided).toHaveLength(100);
    expect(items.log.lines).toMatchObject([{ level: 'warn', message: 'a file of positions cannot be read' }]);
    rmdirSync(file);
    renameSync(`${file}.aside`, file);
    await items.restart();
    expect((await items.ask('to be', 0)).found).toHaveLength(100);
  });

  test('are made by themselves when phrases have read as many texts as that takes', async () => {
    const items = new Items();
    for (let slot = 0; slot < 50; slot++) items.put(slot, ['to be', '']);
    items.positions.noteTexts(9_999);
    expect(items.positions.isMaking).toBe(false);
    items.positions.noteTexts(1);
    await items.positions.settled();
    expect((await items.ask('to be', 0)).found).toHaveLength(50);
  });

  test('are made by shards in turns, and one that waits for its turn can be closed', async () => {
    const [first, second, third, empty] = [new Items(), new Items(), new Items(), new Items()];
    for (const items of [first, second, third]) items.put(1, ['to be', '']);
    let letGo = (): void => undefined;
    first.held = new Promise<void>((resolve) => (letGo = resolve));
    first.positions.make();
    await eventually('the first is at it', () => first.textsRead > 0);
    for (const items of [second, third, empty]) items.positions.make();
    await empty.positions.settled();
    await second.positions.close();
    expect([second.files, third.textsRead]).toEqual([[], 0]);
    letGo();
    await Promise.all([first, third].map(({ positions }) => positions.settled()));
    expect([first.files.length, third.files.length]).toEqual([1, 1]);
  });

  test('are not made while those of items that are gone are dropped, and afterwards are', async () => {
    const items = new Items();
    for (let slot = 0; slot < 50; slot++) items.put(slot, ['to be', '']);
    await items.make();
    items.remove(7);
    const dropped = items.positions.dropStale();
    items.positions.make();
    expect(items.positions.isMaking).toBe(false);
    await dropped;
    await items.positions.settled();
    expect((await items.ask('to be', 0)).found).toHaveLength(49);
  });

  test('that cannot be written are told, and nothing is left of them', async () => {
    const items = new Items();
    items.put(1, ['to be', '']);
    rmSync(items.folder, { recursive: true });
    writeFileSync(items.folder, 'no folder');
    await items.make();
    expect(items.log.messages('error')).toEqual(['positions of words could not be made']);
    rmSync(items.folder);
    await items.make();
    expect(items.files).toHaveLength(1);
  });
});

function changed(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] ^= 0x10;
  return copy;
}
