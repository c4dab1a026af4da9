import type { Finding } from './finding';
import type { MetricHere, PeerCollection, PeerVector } from './peer-source';

/** A value for one of the peer's collections, or for all of them. */
export interface Chosen<Value> {
  /** Null: every collection. */
  collection: string | null;
  value: Value;
}

/** What the user said about collections. Names are the peer's. */
export interface Choices {
  /** Empty: all of them. */
  collections: string[];
  /** By the peer's name, or "name:vector" where several vectors of a collection are taken. */
  names: Map<string, string>;
  /** "*" takes all vectors. */
  vectors: Chosen<string>[];
  texts: Chosen<string>[];
  metrics: Chosen<MetricHere>[];
}

/** One vector of one of the peer's collections, and the collection here that it goes into. */
export interface Move {
  from: PeerCollection;
  vector: PeerVector;
  to: string;
  metric: MetricHere;
  textField: string | null;
  findings: Finding[];
}

export interface Plan {
  moves: Move[];
  /** What stays there, and why. */
  skipped: { name: string; reason: string; findings: Finding[] }[];
  /** What must be said before anything can be done, one line each. */
  questions: string[];
}

const NAME_MAX = 255;

/** Decides what goes where, from what is there and what was chosen. */
export function planMigration(there: PeerCollection[], choices: Choices): Plan {
  const plan: Plan = { moves: [], skipped: [], questions: unknownNames(there, choices) };
  for (const from of there) {
    const isNamed = choices.collections.includes(from.name);
    if (choices.collections.length > 0 && !isNamed) continue;
    if (from.obstacle !== null) {
      plan.skipped.push({ name: from.name, reason: from.obstacle, findings: from.findings });
      if (isNamed) plan.questions.push(`"${from.name}" can't be read: ${from.obstacle}`);
      continue;
    }
    const { vectors, isSeveral } = chosenVectors(from, choices, plan.questions);
    for (const vector of vectors) {
      const metric = lastFor(choices.metrics, from.name) ?? vector.metric;
      if (metric === null) {
        plan.questions.push(
          `the metric of "${from.name}" (${vector.metricThere}) has no counterpart: say --metric ${from.name}=cosine, l2 or ip`,
        );
        continue;
      }
      plan.moves.push(moveOf(from, vector, isSeveral, metric, choices));
    }
  }
  const targets = new Map<string, string>();
  for (const { to, from } of plan.moves) {
    const other = targets.get(to);
    if (other !== undefined)
      plan.questions.push(
        `"${other}" and "${from.name}" would both become "${to}": give one another name with --rename`,
      );
    targets.set(to, from.name);
  }
  return plan;
}

function moveOf(
  from: PeerCollection,
  vector: PeerVector,
  isOneOfSeveral: boolean,
  metric: MetricHere,
  choices: Choices,
): Move {
  const own = isOneOfSeveral ? `${from.name}-${vector.name || 'vector'}` : from.name;
  const given =
    choices.names.get(`${from.name}:${vector.name}`) ?? (isOneOfSeveral ? undefined : choices.names.get(from.name));
  const to = given ?? nameHere(own);
  const findings = [...from.findings];
  if (given === undefined && to !== own)
    findings.push({
      topic: 'names',
      effect: 'changed',
      detail: `"${own}" becomes "${to}": names here have letters, digits, "-" and "_"`,
    });
  if (metric !== vector.metric)
    findings.push({
      topic: 'metric',
      effect: 'check',
      detail: `${metric} was chosen in place of ${vector.metricThere}`,
    });
  return { from, vector, to, metric, textField: lastFor(choices.texts, from.name) ?? null, findings };
}

/** `isSeveral`: each has its name in that of its collection here, also where others turn out to be absent. */
function chosenVectors(
  from: PeerCollection,
  choices: Choices,
  questions: string[],
): { vectors: PeerVector[]; isSeveral: boolean } {
  const own = choices.vectors.filter(({ collection }) => collection === from.name);
  const wanted = (own.length > 0 ? own : choices.vectors.filter(({ collection }) => collection === null)).map(
    ({ value }) => value,
  );
  if (wanted.includes('*')) return { vectors: from.vectors, isSeveral: from.vectors.some(({ name }) => name !== '') };
  if (wanted.length === 0 && from.vectors.length === 1) return { vectors: from.vectors, isSeveral: false };
  const names = from.vectors.map(({ name }) => name || "''").join(', ');
  if (wanted.length === 0) {
    questions.push(
      `"${from.name}" has several vectors (${names}): say which with --vector ${from.name}=NAME, once or more, or --vector '*' for all`,
    );
    return { vectors: [], isSeveral: true };
  }
  const vectors = from.vectors.filter(({ name }) => wanted.includes(name));
  const missing = wanted.filter((name) => !vectors.some((vector) => vector.name === name));
  // What was said for all collections need not be in each; one without a choice of its own gives the only one it has.
  if (missing.length > 0 && own.length > 0)
    questions.push(`"${from.name}" has no vector "${missing.join('", "')}"; it has ${names}`);
  if (vectors.length === 0 && own.length === 0) {
    if (from.vectors.length === 1) return { vectors: from.vectors, isSeveral: false };
    questions.push(`"${from.name}" has none of the vectors ${wanted.join(', ')}; it has ${names}`);
  }
  return { vectors, isSeveral: wanted.length > 1 };
}

function unknownNames(there: PeerCollection[], choices: Choices): string[] {
  const known = new Set(
    there.flatMap(({ name, vectors }) => [name, ...vectors.map((vector) => `${name}:${vector.name}`)]),
  );
  const named = [
    ...choices.collections,
    ...choices.names.keys(),
    ...[...choices.vectors, ...choices.texts, ...choices.metrics].flatMap(({ collection }) => collection ?? []),
  ];
  const unknown = [...new Set(named)].filter((name) => !known.has(name));
  const list = there.map(({ name }) => name).slice(0, 20);
  return unknown.map(
    (name) =>
      `there is no "${name}" there; there is ${list.length === 0 ? 'nothing' : list.join(', ')}${there.length > list.length ? ', …' : ''}`,
  );
}

/** What was said of a collection wins over what was said of all; of two, the later. */
function lastFor<Value>(chosen: Chosen<Value>[], name: string): Value | undefined {
  return (
    chosen.findLast(({ collection }) => collection === name) ?? chosen.findLast(({ collection }) => collection === null)
  )?.value;
}

/** A name of the peer's with what a name here can't have replaced by "_". */
export function nameHere(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, NAME_MAX);
}
