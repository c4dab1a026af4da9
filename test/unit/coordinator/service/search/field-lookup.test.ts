import type { CollectionRecord } from '../../../../../coordinator/service/collections/collection-record';
import { ScatterGather } from '../../../../../coordinator/service/routing/scatter-gather';
import { ShardSets } from '../../../../../coordinator/service/routing/shard-sets';
import { FieldLookup } from '../../../../../coordinator/service/search/field-lookup';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import type { FieldFacts, FieldFactsRequest } from '../../../../../shared/contract/shard/field-facts';
import type { ShardClient } from '../../../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../../../shared/base/time/clock';

/** What some shards know, by their number: the paths of each, or an error; with dates under `when`. */
function lookupOver(shards: (string[] | Error)[], forms: string[] = []) {
  const asked: FieldFactsRequest[] = [];
  let nowMs = 1_000;
  const clock = { monotonicMs: () => nowMs, wallMs: () => nowMs } as Clock;
  const record = { name: 'books', uid: 'u1', identity: 'u1', shards: shards.length } as CollectionRecord;
  const catalog = { known: () => record, find: async () => record };
  const read = async (
    { shard }: { shard: number },
    _kind: string,
    question: FieldFactsRequest,
  ): Promise<FieldFacts> => {
    if (shard === 0) asked.push(question);
    const known = shards[shard];
    if (known instanceof Error) throw known;
    const present = question.paths.map((path) => known.includes(path));
    return {
      items: known.length,
      present,
      forms: question.dates.map(() => forms),
      names: present.includes(false) ? known : [],
    };
  };
  const scatter = new ScatterGather({ clock, timeoutMs: 60_000, uidOf: async () => 'u1' });
  const sets = new ShardSets<CollectionRecord>({ catalog, clock });
  const lookup = new FieldLookup({
    catalog,
    shards: { read } as unknown as Pick<ShardClient, 'read'>,
    scatter,
    sets,
    clock,
  });
  return { asked, lookup, pass: (ms: number) => (nowMs += ms), shards };
}

const asking = (...paths: string[]): FieldFactsRequest => ({ paths, dates: [] });

test('a field is missing where no shard has it', async () => {
  const { lookup } = lookupOver([['a', 'b'], ['c'], []]);
  expect(await lookup.facts('books', asking('a', 'c', 'd'), 0)).toEqual({
    isEmpty: false,
    missing: ['d'],
    names: ['a', 'b', 'c'],
    forms: [],
  });
  expect(await lookupOver([[], []]).lookup.facts('books', asking('a'), 0)).toMatchObject({
    isEmpty: true,
    missing: ['a'],
  });
});

test('nothing is said to be missing where a shard does not answer, and the shards are left alone for a while', async () => {
  for (const error of [
    new QuiverError('unavailable', 'away'),
    new QuiverError('internal', 'a read of a kind that this node does not know'),
  ]) {
    const { lookup, asked, pass, shards } = lookupOver([['a'], error]);
    expect(await lookup.facts('books', asking('b'), 0)).toBeNull();
    expect(lookup.facts('books', asking('b'), 0)).toBeNull();
    expect(asked).toHaveLength(1);
    shards[1] = ['b'];
    pass(60_000);
    expect(await lookup.facts('books', asking('b'), 0)).toMatchObject({ missing: [] });
  }
});

test('what is there is remembered for a minute, and what is missing is asked again', async () => {
  const { lookup, asked, pass, shards } = lookupOver([['a', 'b']]);
  await lookup.facts('books', asking('a', 'b'), 0);
  expect(lookup.facts('books', asking('b', 'a'), 0)).toEqual({ isEmpty: false, missing: [], names: [], forms: [] });
  for (let i = 0; i < 2; i++)
    expect(await lookup.facts('books', asking('a', 'c'), 0)).toMatchObject({ missing: ['c'] });
  expect(asked).toHaveLength(3);
  shards[0] = ['b'];
  expect(lookup.facts('books', asking('a'), 0)).toMatchObject({ missing: [] });
  pass(60_001);
  expect(await lookup.facts('books', asking('a'), 0)).toMatchObject({ missing: ['a'] });
});

test('how dates are written is asked again as soon as something was added, and a second later', async () => {
  const { lookup, asked, pass } = lookupOver([['when']], ['Z']);
  const question = { paths: ['when'], dates: ['when'] };
  expect(await lookup.facts('books', question, 10)).toMatchObject({ forms: [['Z']] });
  expect(lookup.facts('books', question, 10)).toMatchObject({ forms: [['Z']] });
  await lookup.facts('books', question, 11);
  pass(1_000);
  await lookup.facts('books', question, 11);
  expect(asked).toHaveLength(3);
});
