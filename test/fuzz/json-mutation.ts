import { below, pick } from './fuzz-target';

/** Values that break naive code. `Infinity` and the like can't be in JSON; what comes near them can. */
const HOSTILE: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  -1e-320,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  -(2 ** 63),
  '',
  ' ',
  'a',
  '0',
  '__proto__',
  'constructor',
  'toString',
  '$where',
  '\u0000',
  '\ud800',
  '\u{10ffff}',
  '../../etc/passwd',
  '%00',
  "\u0640\u0640's",
  'e\u0301',
  '\u202e',
  'a.b.c',
  '$gt',
  [],
  {},
  [[]],
  [{}],
  { $gt: {} },
  { $in: 5 },
  { $not: { $not: 1 } },
  { $and: [] },
  { $or: [{}] },
  { a: { $exists: 'x' } },
  'a'.repeat(5_000),
  'é'.repeat(600),
];
const KEYS = [
  '__proto__',
  'constructor',
  'toString',
  '',
  'a.b',
  '$gt',
  '$or',
  'vector',
  'text',
  'external_id',
  'items',
  'filters',
  'k',
  '\u0000',
  'x'.repeat(300),
];
const NESTED_MAX = 200;
const REPEATED_MAX = 3_000;

type Path = (string | number)[];

/** The value with one or two hostile changes at places of its own structure. */
export function mutateJson(random: () => number, value: unknown): unknown {
  let changed = value;
  for (let rounds = 1 + below(random, 2); rounds > 0; rounds -= 1)
    changed = mutateAt(random, changed, pick(random, placesIn(changed)));
  return changed;
}

function mutateAt(random: () => number, value: unknown, path: Path): unknown {
  if (path.length === 0) return replacement(random, value);
  const copy = copyOf(value);
  const [step, ...rest] = path;
  copy[step] = mutateAt(random, copy[step], rest);
  return copy;
}

function replacement(random: () => number, value: unknown): unknown {
  switch (below(random, 6)) {
    case 0:
      return nested(random, value);
    case 1:
      return Array.from({ length: below(random, REPEATED_MAX) }, () => value);
    case 2:
      return typeof value === 'object' && value !== null
        ? withMember(value, pick(random, KEYS), pick(random, HOSTILE))
        : pick(random, HOSTILE);
    case 3:
      return typeof value === 'object' && value !== null ? withoutMember(random, value) : String(value);
    case 4:
      return typeof value === 'number' ? value * pick(random, [-1, 0, 1e9, 1.0000001, 1e300]) : pick(random, HOSTILE);
    default:
      return pick(random, HOSTILE);
  }
}

function nested(random: () => number, value: unknown): unknown {
  let outer = value;
  const wrap = pick<(inner: unknown) => unknown>(random, [
    (inner) => [inner],
    (inner) => ({ a: inner }),
    (inner) => ({ $not: inner }),
    (inner) => ({ $and: [inner] }),
  ]);
  for (let depth = below(random, NESTED_MAX); depth > 0; depth -= 1) outer = wrap(outer);
  return outer;
}

function withMember(value: object, key: string, member: unknown): unknown {
  if (Array.isArray(value)) return [...value, member];
  // JSON can have a member of that name; assigning it would set the prototype instead.
  return Object.defineProperty({ ...value }, key, {
    value: member,
    enumerable: true,
    configurable: true,
    writable: true,
  });
}

function withoutMember(random: () => number, value: object): unknown {
  if (Array.isArray(value)) return value.filter((_, i) => i !== below(random, value.length));
  const keys = Object.keys(value);
  const gone = pick(random, keys);
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== gone));
}

/**
 * Only to one level of nesting beyond what any request has: what is nested by hundreds is walked once, not at each
 * place.
 */
const DEPTH_MAX = 12;

function placesIn(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null || path.length > DEPTH_MAX) return [path];
  const entries = Array.isArray(value)
    ? value.slice(0, 20).map((inner, i) => [i, inner] as const)
    : Object.entries(value);
  return [path, ...entries.flatMap(([key, inner]) => placesIn(inner, [...path, key]))];
}

function copyOf(value: unknown): any {
  return Array.isArray(value) ? [...value] : { ...(value as object) };
}
