import { attack, type Attack, library, post, randomVector, type Shot } from '../attack';

/** Of each attack so many different filters, so that no result is remembered. */
const VARIANTS = 16;

function searches(random: () => number, filterOf: (random: () => number) => object): Shot[] {
  return Array.from({ length: VARIANTS }, () =>
    post(library('search'), { vector: randomVector(random), k: 10, filters: filterOf(random) }),
  );
}

function filterAttack(name: string, filterOf: (random: () => number) => object): Attack {
  return attack({ name: `filter:${name}`, shots: (random) => searches(random, filterOf) });
}

function times<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

function nested(depth: number, wrap: (inner: object) => object, leaf: object): object {
  let filter = leaf;
  for (let i = 1; i < depth; i += 1) filter = wrap(filter);
  return filter;
}

/**
 * Filters within the limits, as dear as they get: `year` has 20,000 distinct numbers, `code` as many texts, `tag` ten
 * values.
 */
export const FILTER_ATTACKS: Attack[] = [
  filterAttack('or-of-number-ranges', (random) => ({
    $or: times(1_000, () => ({ year: { $gt: random() * 20_000 } })),
  })),
  filterAttack('and-of-number-ranges', (random) => ({ $and: times(1_000, () => ({ year: { $gt: -1 - random() } })) })),
  filterAttack('or-of-text-ranges', (random) => ({
    $or: times(1_000, () => ({ code: { $gte: random().toString(36).slice(2) } })),
  })),
  filterAttack('or-of-negations', (random) => ({
    $or: times(1_000, () => ({ year: { $ne: Math.floor(random() * 20_000) } })),
  })),
  filterAttack('and-of-negations', (random) => ({
    $and: times(1_000, () => ({ $not: { code: { $lt: random().toString(36).slice(2) } } })),
  })),
  filterAttack('list-of-numbers', (random) => ({ year: { $in: times(16_000, () => Math.floor(random() * 20_000)) } })),
  filterAttack('list-of-texts', (random) => ({ code: { $nin: times(16_000, () => random().toString(36).repeat(8)) } })),
  filterAttack('nested-negations', (random) => nested(32, (inner) => ({ $not: inner }), { year: { $gt: random() } })),
  filterAttack('nested-pairs', (random) =>
    nested(32, (inner) => ({ $and: [{ $or: times(30, () => ({ year: { $gt: random() * 20_000 } })) }, inner] }), {
      year: { $gt: 1 },
    }),
  ),
  filterAttack('long-paths', (random) => Object.fromEntries(times(1_000, () => [`${random()}${'.a'.repeat(800)}`, 1]))),
  filterAttack('dotted-paths', (random) => ({
    $or: times(1_000, () => ({ [`deep.${'a.'.repeat(30)}${random()}`]: { $gt: 1 } })),
  })),
  filterAttack('objects-to-equal', (random) => ({
    deep: nested(31, (inner) => ({ a: inner, b: times(400, () => random()) }), { c: 1 }),
  })),
  filterAttack('long-texts-to-equal', (random) => ({
    $or: times(100, () => ({ code: random().toString(36).repeat(1_000) })),
  })),
  attack({
    name: 'filter:bulk-search',
    shots: (random) =>
      times(4, () =>
        post(library('bulk_search'), {
          queries: times(20, () => ({
            vector: randomVector(random),
            k: 10,
            filters: { $or: times(1_000, () => ({ year: { $gt: random() * 20_000 } })) },
          })),
        }),
      ),
  }),
  attack({
    name: 'filter:scroll',
    shots: (random) =>
      times(VARIANTS, () =>
        post(library('scroll'), {
          limit: 1_000,
          filters: { $or: [{ year: { $gt: random() * 20 } }, { tag: { $ne: random() } }] },
        }),
      ),
  }),
  attack({
    name: 'filter:scroll-for-rare',
    shots: (random) =>
      times(VARIANTS, () =>
        post(library('scroll'), {
          limit: 1_000,
          include_vectors: false,
          filters: { $and: [{ year: { $gte: Math.floor(random() * 20_000) } }, { year: { $lt: 3 } }] },
        }),
      ),
  }),
  attack({
    name: 'filter:hybrid',
    shots: (random) =>
      times(VARIANTS, () =>
        post(library('hybrid_search'), {
          query_text: 'word1 word2',
          alpha: 0,
          filters: { $or: times(1_000, () => ({ year: { $gt: random() * 20_000 } })) },
        }),
      ),
  }),
];
