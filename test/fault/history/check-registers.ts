import type { KeyOperation } from './key-operation';
import type { KeyTimeline } from './key-timeline';
import { describeOperation } from './operation';
import type { Violation } from './violation';

/**
 * Linearizability of each id as a register of {absent, value}, without the server's own versions: is there an order of
 * the operations, each at one moment between its call and its end, in which every answer is right?
 *
 * The search goes through time (just-in-time linearization: Lowe, Testing for linearizability, 2017; Horn and Kroening,
 * Faster linearizability checking via P-compositionality, 2015), holding every configuration that is still possible:
 * the state, and which operations under way have taken effect. At an end, those in which that operation has not (and
 * can't have) taken effect are dropped; when none is left, the history is not linearizable.
 *
 * Unknown operations stay under way for ever, so they are held as numbers, not as sets: all unknown deletes are alike,
 * and so are all unknown upserts whose value nobody ever saw, and of two configurations that differ in these numbers
 * only, the one that has used fewer can do whatever the other can. An unknown upsert whose value was seen had taken
 * effect by then, and is an ordinary operation that ends there.
 */
export function checkRegisters(timelines: ReadonlyMap<string, KeyTimeline>): Violation[] {
  const violations: Violation[] = [];
  for (const [id, timeline] of timelines) {
    const failed = firstImpossible(stepsOf(timeline));
    if (failed === null) continue;
    if (failed === 'undecided') {
      violations.push({
        rule: 'register: undecided',
        sentence: `the ${timeline.operations.length} operations on ${id} overlap too much to be checked`,
        operations: [],
      });
      continue;
    }
    const around = failed.pending.map((operation) => describeOperation(operation.source, id));
    violations.push({
      rule: 'register: not linearizable',
      sentence:
        `no order of the operations on ${id} explains ${describeOperation(failed.operation.source, id)}, which ${answerOf(failed.operation)}; ` +
        `until then it may have been ${failed.states.map((state) => state ?? 'absent').join(' or ')}` +
        (around.length > 0 ? `, with ${around.join(' and ')} under way` : ''),
      operations: [failed.operation.source, ...failed.pending.map(({ source }) => source)],
    });
  }
  return violations;
}

/** More configurations than this and the id is given up, which counts as a violation; workloads stay far below. */
const CONFIGURATIONS_MAX = 200_000;
/** Stands for every value that no answer ever showed: which one it is can't matter. */
const UNSEEN = '\u0000unseen';

type State = string | null;

interface Configuration {
  state: State;
  /** Operations under way that have taken effect. */
  done: ReadonlySet<number>;
  /** Unknown operations used, of each class. */
  usedDeletes: number;
  usedUpserts: number;
}

/** One operation of the search; `number` names it in `done`. */
interface Register {
  number: number;
  type: KeyOperation['type'];
  state: State;
  saw: KeyOperation['saw'];
  met: KeyOperation['met'];
  operation: KeyOperation;
}

type Step =
  | { at: number; type: 'call'; register: Register }
  | { at: number; type: 'end'; register: Register }
  | { at: number; type: 'openDelete' }
  | { at: number; type: 'openUpsert' };

interface Impossible {
  operation: KeyOperation;
  states: State[];
  pending: KeyOperation[];
}

function stepsOf(timeline: KeyTimeline): Step[] {
  const seen = new Set<string>();
  for (const { type, value } of timeline.operations) if (type === 'read' && value !== null) seen.add(value);
  // What a condition names counts, too.
  for (const { met } of timeline.operations) if (typeof met === 'string') seen.add(met);
  const steps: Step[] = [];
  timeline.operations.forEach((operation, number) => {
    const { type, value, inv, saw, met } = operation;
    const end =
      type === 'upsert' && value !== null ? (timeline.lives.get(value)?.effectBy ?? operation.ret) : operation.ret;
    if (end === Infinity) {
      steps.push({ at: inv, type: type === 'delete' ? 'openDelete' : 'openUpsert' });
      return;
    }
    const state = value === null ? null : type === 'read' || seen.has(value) ? value : UNSEEN;
    const register: Register = { number, type, state, saw, met, operation };
    steps.push({ at: inv, type: 'call', register }, { at: end, type: 'end', register });
  });
  // At equal times calls go first: operations that touch count as overlapping.
  return steps.sort((a, b) => a.at - b.at || Number(a.type === 'end') - Number(b.type === 'end'));
}

function firstImpossible(steps: Step[]): Impossible | 'undecided' | null {
  const pending = new Map<number, Register>();
  let openDeletes = 0;
  let openUpserts = 0;
  let possible: Configuration[] = [{ state: null, done: new Set(), usedDeletes: 0, usedUpserts: 0 }];
  for (const step of steps) {
    if (step.type === 'openDelete') openDeletes += 1;
    else if (step.type === 'openUpsert') openUpserts += 1;
    else if (step.type === 'call') pending.set(step.register.number, step.register);
    else {
      const { register } = step;
      const next = withDone(possible, register, { pending, openDeletes, openUpserts });
      pending.delete(register.number);
      if (next === 'too many') return 'undecided';
      if (next.length === 0) {
        return {
          operation: register.operation,
          states: [...new Set(possible.map(({ state }) => (state === UNSEEN ? 'a value never seen' : state)))],
          pending: [...pending.values()].map(({ operation }) => operation),
        };
      }
      possible = next;
    }
  }
  return null;
}

interface UnderWay {
  pending: ReadonlyMap<number, Register>;
  openDeletes: number;
  openUpserts: number;
}

/** All configurations that follow from `from` in which `target` has taken effect, without it in `done`. */
function withDone(from: Configuration[], target: Register, underWay: UnderWay): Configuration[] | 'too many' {
  const reached = new Frontier();
  const results = new Frontier();
  const stack: Configuration[] = [];
  const visit = (configuration: Configuration): void => {
    const closed = withReads(configuration, underWay.pending);
    if (closed.done.has(target.number)) {
      const done = new Set(closed.done);
      done.delete(target.number);
      results.add({ ...closed, done });
    } else if (reached.add(closed)) {
      stack.push(closed);
    }
  };
  from.forEach(visit);
  for (let configuration = stack.pop(); configuration !== undefined; configuration = stack.pop()) {
    if (reached.size + results.size > CONFIGURATIONS_MAX) return 'too many';
    const { state, done, usedDeletes, usedUpserts } = configuration;
    for (const { number, type, state: written, saw, met } of underWay.pending.values()) {
      if (type === 'read' || done.has(number) || !mayMeet(saw, state) || (met !== undefined && met !== state)) continue;
      visit({ ...configuration, state: written, done: new Set(done).add(number) });
    }
    if (state !== null && usedDeletes < underWay.openDeletes)
      visit({ ...configuration, state: null, usedDeletes: usedDeletes + 1 });
    if (state !== UNSEEN && usedUpserts < underWay.openUpserts)
      visit({ ...configuration, state: UNSEEN, usedUpserts: usedUpserts + 1 });
  }
  return results.all();
}

/** What changes nothing may as well take effect as soon as it can: reads of this state, deletes that found nothing. */
function withReads(configuration: Configuration, pending: ReadonlyMap<number, Register>): Configuration {
  let done: Set<number> | null = null;
  for (const { number, type, state, saw } of pending.values()) {
    const isIdle =
      type === 'read'
        ? state === configuration.state
        : type === 'delete' && saw === 'absent' && configuration.state === null;
    if (isIdle && !configuration.done.has(number)) (done ??= new Set(configuration.done)).add(number);
  }
  return done === null ? configuration : { ...configuration, done };
}

function mayMeet(saw: KeyOperation['saw'], state: State): boolean {
  return saw === null || (saw === 'absent') === (state === null);
}

/** Configurations without those that another one can stand for. */
class Frontier {
  private readonly byKey = new Map<string, Configuration[]>();
  size = 0;

  /** Adds it unless one like it has used no more unknown operations; says whether it was added. */
  add(configuration: Configuration): boolean {
    const key = `${[...configuration.done].sort((a, b) => a - b).join(',')}|${configuration.state === null ? '' : `=${configuration.state}`}`;
    const alike = this.byKey.get(key) ?? [];
    const { usedDeletes, usedUpserts } = configuration;
    if (alike.some((other) => other.usedDeletes <= usedDeletes && other.usedUpserts <= usedUpserts)) return false;
    const kept = alike.filter((other) => other.usedDeletes < usedDeletes || other.usedUpserts < usedUpserts);
    kept.push(configuration);
    this.size += kept.length - alike.length;
    this.byKey.set(key, kept);
    return true;
  }

  all(): Configuration[] {
    return [...this.byKey.values()].flat();
  }
}

function answerOf({ type, value, saw, met: condition }: KeyOperation): string {
  if (condition !== undefined) return `wrote ${value} where only ${condition ?? 'nothing'} may have been`;
  if (type === 'read') return value === null ? 'found nothing' : `found ${value}`;
  const met = saw === null ? '' : saw === 'absent' ? ' where nothing was' : ' where something was';
  return type === 'delete' ? `deleted${met}` : `wrote ${value}${met}`;
}
