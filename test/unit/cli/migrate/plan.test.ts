import type { PeerCollection, PeerVector } from '../../../../cli/migrate/peer-source';
import { type Choices, planMigration } from '../../../../cli/migrate/plan';

const vector = (name: string, more: Partial<PeerVector> = {}): PeerVector => ({
  name,
  dim: 2,
  metric: 'cosine',
  metricThere: 'Cosine',
  ...more,
});
const collection = (name: string, vectors: PeerVector[], more: Partial<PeerCollection> = {}): PeerCollection => ({
  name,
  vectors,
  count: 1,
  description: null,
  obstacle: null,
  findings: [],
  ...more,
});
const choices = (more: Partial<Choices> = {}): Choices => ({
  collections: [],
  names: new Map(),
  vectors: [],
  texts: [],
  metrics: [],
  ...more,
});
const moved = (there: PeerCollection[], more: Partial<Choices> = {}): string[] =>
  planMigration(there, choices(more)).moves.map(
    ({ from, vector: { name }, to, metric }) => `${from.name}/${name} → ${to} ${metric}`,
  );

describe('the plan of a migration', () => {
  test('takes every collection with one vector, under a name that is allowed here', () => {
    const there = [collection('a.b', [vector('')]), collection('c', [vector('v', { metric: 'l2' })])];
    expect(moved(there)).toEqual(['a.b/ → a_b cosine', 'c/v → c l2']);
    expect(planMigration(there, choices()).moves[0].findings).toEqual([
      expect.objectContaining({ topic: 'names', effect: 'changed' }),
    ]);
    expect(moved(there, { collections: ['c'], names: new Map([['c', 'other']]) })).toEqual(['c/v → other l2']);
  });

  test('asks which vector where there are several, and takes one, some or all', () => {
    const there = [collection('shop', [vector('title'), vector('image')]), collection('plain', [vector('')])];
    expect(planMigration(there, choices()).questions).toEqual([
      expect.stringMatching(/"shop" has several vectors \(title, image\).*--vector/),
    ]);
    const all = (value: string): Choices['vectors'][number] => ({ collection: null, value });
    expect(moved(there, { vectors: [all('image')] })).toEqual(['shop/image → shop cosine', 'plain/ → plain cosine']);
    expect(moved(there, { vectors: [all('*')] })).toEqual([
      'shop/title → shop-title cosine',
      'shop/image → shop-image cosine',
      'plain/ → plain cosine',
    ]);
    expect(
      moved(there, { collections: ['shop'], vectors: [all('*')], names: new Map([['shop:image', 'pictures']]) }),
    ).toEqual(['shop/title → shop-title cosine', 'shop/image → pictures cosine']);
    expect(planMigration(there, choices({ vectors: [{ collection: 'shop', value: 'sound' }] })).questions).toEqual([
      expect.stringContaining('has no vector "sound"'),
    ]);
  });

  test('asks for a metric where the one there has no counterpart', () => {
    const there = [collection('taxi', [vector('', { metric: null, metricThere: 'Manhattan' })])];
    expect(planMigration(there, choices())).toMatchObject({
      moves: [],
      questions: [expect.stringContaining('Manhattan')],
    });
    expect(
      moved(there, {
        metrics: [
          { collection: null, value: 'ip' },
          { collection: 'taxi', value: 'l2' },
        ],
      }),
    ).toEqual(['taxi/ → taxi l2']);
  });

  test('leaves out what can’t be read, but not silently when it was asked for by name', () => {
    const there = [collection('empty', [], { obstacle: 'it is empty' })];
    expect(planMigration(there, choices())).toMatchObject({
      moves: [],
      questions: [],
      skipped: [{ name: 'empty', reason: 'it is empty' }],
    });
    expect(planMigration(there, choices({ collections: ['empty'] })).questions).toEqual([
      expect.stringContaining('it is empty'),
    ]);
    expect(planMigration(there, choices({ collections: ['nothing'] })).questions).toEqual([
      expect.stringContaining('there is no "nothing"'),
    ]);
  });

  test('never puts two collections into one', () => {
    const there = [collection('a.b', [vector('')]), collection('a_b', [vector('')])];
    expect(planMigration(there, choices()).questions).toEqual([expect.stringContaining('would both become "a_b"')]);
    expect(planMigration(there, choices({ names: new Map([['a.b', 'first']]) })).questions).toEqual([]);
  });
});
