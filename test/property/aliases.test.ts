import type { AliasAction } from '../../coordinator/service/aliases-service';
import type { RunningService } from '../../coordinator/service-factory';
import { KeyValueClusterStore } from '../../embedded/cluster-store/key-value-cluster-store';
import { isQuiverError } from '../../shared/base/errors/quiver-error';
import type { StoreEvent } from '../../shared/cluster-store/cluster-store';
import { InterceptedClusterStore } from '../support/cluster/intercepted-cluster-store';
import { MemoryKeyValueStore } from '../support/models/memory-key-value-store';
import { PlainShardClient } from '../support/shards/plain-shard-client';
import { newCollection, plainService } from '../support/shards/plain-service';
import { runSeed, seededRandom } from '../support/values/random';

/**
 * Random actions through three processes beside requests to all of them, against a plain map: every request is answered
 * by a table that was in force between its beginning and its end, and none by one that was before it began.
 */

const seed = runSeed('aliases');
/** Names that collections mostly have, and aliases. */
const OWN = ['x', 'y', 'z'];
const OTHERS = ['a', 'b', 'c', 'd'];
const NAMES = [...OWN, ...OTHERS];
const STEPS = 250;
/** Requests by an alias, at least. */
const MOVED = 50;
const PROCESSES = 3;

/** A store whose changes this process hears of some turns later, in their order. */
class LateStore extends InterceptedClusterStore {
  private hearing: Promise<void> = Promise.resolve();

  constructor(
    inner: KeyValueClusterStore,
    private readonly turns: () => number,
  ) {
    super(inner);
  }

  override watch(prefix: string, after: number, listener: (events: StoreEvent[]) => void): () => void {
    return super.watch(prefix, after, (events) => {
      const turns = this.turns();
      this.hearing = this.hearing.then(async () => {
        await turnsOf(turns);
        listener(events);
      });
    });
  }
}

async function turnsOf(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) await new Promise((turn) => setImmediate(turn));
}

/** What there is: collections, and aliases with what they stand for. */
interface State {
  collections: ReadonlySet<string>;
  aliases: ReadonlyMap<string, string>;
}

/** What an action makes of a state; a text: the kind of error that it is refused with. */
function after({ collections, aliases }: State, actions: readonly AliasAction[]): State | string {
  const next = new Map(aliases);
  for (const action of actions) {
    const { alias } = action;
    if (action.type === 'create' && (collections.has(alias) || next.has(alias))) return 'already_exists';
    if (action.type !== 'create' && !next.has(alias)) return 'not_found';
    if (action.type === 'delete') {
      next.delete(alias);
      continue;
    }
    const target = next.get(action.collection) ?? action.collection;
    if (!collections.has(target)) return 'not_found';
    next.set(alias, target);
  }
  return { collections, aliases: next };
}

test('every request is answered by aliases that are in force while it runs', async () => {
  const random = seededRandom(seed);
  const below = (count: number): number => Math.floor(random() * count);
  const pick = <T>(values: readonly T[]): T => values[below(values.length)];
  const inner = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const shards = new PlainShardClient();
  const services: RunningService[] = [];
  /** Of each process: whether it is a member, and so certain. */
  const members = Array.from({ length: PROCESSES }, () => true);
  for (let i = 0; i < PROCESSES; i += 1) {
    const others = (): RunningService[] => services.filter((_, other) => other !== i);
    const { service } = await plainService({
      store: new LateStore(inner, () => below(6)),
      shards,
      aliasTenure: { isHeld: () => members[i] },
      aliasAudience: {
        know: async (revision) => {
          await Promise.all(services.map(async (one, other) => members[other] && one.aliases.known(revision)));
        },
        ask: async (name) => others().map(({ aliases }) => aliases.tell(name)),
      },
    });
    services.push(service);
  }
  let state: State = { collections: new Set(), aliases: new Map() };
  /** The states in force, with when the one after it was known to everybody. */
  const history: { state: State; overAt: number }[] = [{ state, overAt: Infinity }];
  let now = 0;
  const found = { moved: 0, refused: 0 };

  const changed = async (next: State | string, act: () => Promise<unknown>): Promise<void> => {
    // From when it is begun, it may be in force.
    if (typeof next !== 'string') history.push({ state: next, overAt: Infinity });
    const kind = await act().then(
      () => null,
      (error: unknown) => {
        if (!isQuiverError(error)) throw error;
        return error.kind;
      },
    );
    expect(kind).toBe(typeof next === 'string' ? next : null);
    if (typeof next === 'string') {
      found.refused += 1;
      return;
    }
    history.at(-2)!.overAt = ++now;
    state = next;
  };

  const step = async (): Promise<void> => {
    const service = pick(services);
    const { collections, aliases } = state;
    const name = pick(below(8) === 0 ? OTHERS : OWN);
    const what = below(10);
    if (what === 0) {
      const isTaken = collections.has(name) || aliases.has(name);
      const made: State = { aliases, collections: new Set([...collections, name]) };
      return changed(isTaken ? 'already_exists' : made, () => service.collections.create(newCollection(name)));
    }
    if (what === 1) {
      const force = below(3) === 0;
      const own = [...aliases].filter(([, collection]) => collection === name);
      const left: State = {
        collections: new Set([...collections].filter((one) => one !== name)),
        aliases: new Map([...aliases].filter(([, collection]) => collection !== name)),
      };
      const next = !collections.has(name) ? 'not_found' : own.length > 0 && !force ? 'conflict' : left;
      return changed(next, async () => {
        const gone = await service.collections.delete(name, undefined, force);
        if (gone.length > 0) await service.aliases.settled();
      });
    }
    if (what === 2) {
      const i = below(PROCESSES);
      members[i] = !members[i];
      // Whoever is a member again reads the aliases first.
      if (members[i]) {
        members[i] = false;
        await services[i].aliases.refresh();
        members[i] = true;
      }
      return undefined;
    }
    const actions = Array.from({ length: 1 + below(3) }, (): AliasAction => {
      const type = pick(['create', 'switch', 'switch', 'delete'] as const);
      const alias = pick(below(8) === 0 ? OWN : OTHERS);
      return type === 'delete' ? { type, alias } : { type, alias, collection: pick(below(3) === 0 ? OTHERS : OWN) };
    });
    return changed(after(state, actions), async () => {
      await service.aliases.change(actions);
      await service.aliases.settled();
    });
  };

  let isOver = false;
  const requests = Array.from({ length: 6 }, async (_, i) => {
    const own = seededRandom(seed + 1 + i);
    while (!isOver) {
      await turnsOf(Math.floor(own() * 4));
      const name = NAMES[Math.floor(own() * NAMES.length)];
      const service = services[Math.floor(own() * PROCESSES)];
      const begunAt = now;
      const from = history.findIndex(({ overAt }) => overAt > begunAt);
      const resolved = await service.aliases.names.resolve(name);
      const allowed = history.slice(from).map(({ state: one }) => one.aliases.get(name) ?? name);
      expect({ name, allowed }).toEqual({ name, allowed: expect.arrayContaining([resolved]) });
      if (resolved !== name) found.moved += 1;
    }
  });
  // Until it is a story about aliases.
  for (let i = 0; i < STEPS || (found.moved < MOVED && i < 20 * STEPS); i += 1) {
    await step();
    if (below(4) === 0) await turnsOf(below(10));
    const listed = await pick(services).aliases.list();
    expect(new Map(listed.map(({ alias, collection }) => [alias, collection]))).toEqual(state.aliases);
  }
  isOver = true;
  await Promise.all(requests);
  for (const service of services) service.close();
  expect(found.moved).toBeGreaterThanOrEqual(MOVED);
  expect(found.refused).toBeGreaterThan(0);
});
