import { EventQueue } from '../../support/threads/event-queue';
import { seededRandom } from '../../support/values/random';
import type { OperationEnd } from './history';
import { History } from './history';
import type { OperationArguments, OperationKind, SeenHit, SeenItem } from './operation';
import { SimulatedStore, type Lie } from './simulated-store';
import { GROUPS } from './written-value';

const COORDINATORS = ['http://one:1', 'http://two:2'];
/** Virtual time is in nanoseconds like that of a history; an operation takes a few of these. */
const TICK = 1000;
/** Of the cases where a lie could be told, those in which it is. */
const LIE_SHARE = 0.3;
/** Lies with few cases, or that show in few: told every time. */
const SELDOM: ReadonlySet<Lie> = new Set<Lie>([
  'an unanswered upsert is applied a second time',
  'a refused upsert is applied',
  'a refused upsert is shown, then taken back',
  'batches are inserted in reverse',
]);
/** Of writes: answered by nothing, refused. */
const UNKNOWN_SHARE = 0.08;
const REFUSED_SHARE = 0.06;

export interface SimulationOptions {
  seed: number;
  clients?: number;
  operationsPerClient?: number;
  ids?: number;
  /** null: the service keeps every promise. */
  lie: Lie | null;
}

/**
 * A history of simulated clients against a simulated service in virtual time: operations overlap, take effect at a
 * random moment between call and answer (each id and each shard at its own), or are cut off from their answer and take
 * effect then, much later or never. Without a lie the history keeps every promise.
 */
export function simulateHistory({
  seed,
  clients = 5,
  operationsPerClient = 60,
  ids: idCount = 10,
  lie,
}: SimulationOptions): History {
  const random = seededRandom(seed);
  const queue = new EventQueue();
  const history = new History({ nowNanos: () => queue.now });
  const isLying = (asked: Lie): boolean => asked === lie && (SELDOM.has(asked) || random() < LIE_SHARE);
  const store = new SimulatedStore({ isLying });
  const allIds = Array.from({ length: idCount }, (_, i) => `id-${i}`);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)];
  const soon = (): number => queue.now + 1 + Math.floor(random() * 4 * TICK);
  let values = 0;

  const someIds = (most: number): string[] => {
    const rest = [...allIds];
    return Array.from(
      { length: Math.min(1 + Math.floor(random() * most), idCount) },
      () => rest.splice(Math.floor(random() * rest.length), 1)[0],
    );
  };

  /** Runs a write; `done` once it is answered or given up. */
  const write = (
    client: string,
    kind: OperationKind,
    ids: string[],
    done: (outcome: OperationEnd['outcome']) => void,
  ): void => {
    const isUpsert = kind === 'upsert' || kind === 'bulk_upsert';
    const args: OperationArguments = isUpsert ? { values: ids.map(() => `v${(values += 1)}`) } : {};
    const end = history.begin({ client, kind, ids, args, coordinator: pick(COORDINATORS) });
    const fate = random();
    const isRefused = fate < REFUSED_SHARE;
    const isUnknown = !isRefused && fate < REFUSED_SHARE + UNKNOWN_SHARE;
    const statuses: ('inserted' | 'updated')[] = [];
    const deleted: string[] = [];
    const apply = (id: string, i: number, stamp: number): void => {
      if (!isUpsert) {
        if (!isUnknown && isLying('an acknowledged delete is not applied')) deleted.push(id);
        else if (store.delete(id)) deleted.push(id);
        if (!isUnknown && isLying('a deleted item comes back'))
          queue.schedule(queue.now + 20 * TICK, () => store.undo(id));
        return;
      }
      const value = (args.values as string[])[i];
      if (!isUnknown && isLying('an acknowledged upsert is not applied'))
        statuses[i] = store.read(id) === null ? 'inserted' : 'updated';
      else statuses[i] = store.upsert(id, value, stamp);
      if (isLying(isUnknown ? 'an unanswered upsert is applied a second time' : 'an upsert is applied a second time')) {
        queue.schedule(queue.now + Math.floor(random() * 60 * TICK), () => store.upsert(id, value, stamp));
      }
      if (!isUnknown && isLying('a crash takes back what was acknowledged'))
        queue.schedule(queue.now + 20 * TICK, () => store.undo(id));
    };
    queue.schedule(soon(), () => {
      const first = store.reserve(ids.length);
      const isReversed = isLying('batches are inserted in reverse');
      let open = ids.length;
      let last = queue.now;
      const answer = (): void => {
        const outcome = isRefused ? 'fail' : isUnknown ? 'unknown' : 'ok';
        end({ outcome, result: outcome !== 'ok' ? {} : isUpsert ? { statuses } : { deleted } });
        done(outcome);
      };
      if (isRefused) {
        if (isUpsert && isLying('a refused upsert is applied')) apply(ids[0], 0, first);
        if (isUpsert && isLying('a refused upsert is shown, then taken back')) {
          apply(ids[0], 0, first);
          queue.schedule(queue.now + 20 * TICK, () => store.undo(ids[0]));
        }
        queue.schedule(soon(), answer);
        return;
      }
      ids.forEach((id, i) => {
        const stamp = first + (isReversed ? ids.length - 1 - i : i);
        const lateness = random();
        if (isUnknown && lateness < 0.4) return;
        const at = isUnknown && lateness < 0.7 ? queue.now + Math.floor(random() * 100 * TICK) : soon();
        last = Math.max(last, at);
        queue.schedule(at, () => {
          apply(id, i, stamp);
          open -= 1;
          if (open === 0 && !isUnknown) queue.schedule(soon(), answer);
        });
      });
      if (isUnknown) queue.schedule(soon(), answer);
    });
  };

  /** Runs a read: `look` at one moment for each part, `finish` makes the answer. */
  const read = <Part>(
    start: {
      client: string;
      kind: OperationKind;
      ids?: string[];
      args?: OperationArguments;
      coordinator: string;
      final?: boolean;
    },
    looks: (() => Part)[],
    finish: (parts: Part[]) => OperationEnd['result'],
    done: (outcome: OperationEnd['outcome']) => void,
  ): void => {
    const end = history.begin(start);
    const parts: Part[] = [];
    let open = looks.length;
    looks.forEach((look, i) =>
      queue.schedule(soon(), () => {
        parts[i] = look();
        open -= 1;
        if (open > 0) return;
        queue.schedule(soon(), () => {
          end({ outcome: 'ok', result: finish(parts) });
          done('ok');
        });
      }),
    );
  };

  const fetch = (
    start: Parameters<typeof read>[0],
    ids: string[],
    done: (outcome: OperationEnd['outcome']) => void,
  ): void =>
    read(
      { ...start, ids },
      ids.map((id) => () => store.read(id)),
      (items) => ({ items: items.filter((item) => item !== null) }),
      done,
    );

  const exportAll = (start: Parameters<typeof read>[0], done: (outcome: OperationEnd['outcome']) => void): void =>
    read(
      start,
      [() => store.scan(0), () => store.scan(1)],
      (shards) => ({ items: exported(shards.flat(), start) }),
      done,
    );

  const exported = (
    found: { item: SeenItem; stamp: number }[],
    start: { coordinator: string; final?: boolean },
  ): SeenItem[] => {
    const items = found.sort((a, b) => a.stamp - b.stamp).map(({ item }) => item);
    if (isLying('an export leaves an item out')) items.splice(Math.floor(random() * items.length), 1);
    if (items.length > 0 && isLying('an export shows an item twice')) items.push(items[0]);
    if (isLying('an export resumes in another order')) items.push(...items.splice(0, items.length >> 1));
    if (start.final === true && start.coordinator === COORDINATORS[1]) {
      if (lie === 'one coordinator has lost an item') items.pop();
      if (lie === 'one coordinator has another order') items.reverse();
    }
    return items;
  };

  const count = (start: Parameters<typeof read>[0], done: (outcome: OperationEnd['outcome']) => void): void =>
    read(start, [() => store.count(0), () => store.count(1)], ([a, b]) => ({ count: a + b }), done);

  const search = (
    start: Parameters<typeof read>[0],
    args: OperationArguments & { query: string; k: number },
    done: (outcome: OperationEnd['outcome']) => void,
  ): void =>
    read(
      { ...start, args },
      [0, 1].map((shard) => () => store.search(shard, args.query, args.group)),
      (shards) => ({ hits: topHits(shards.flat(), args.k) }),
      done,
    );

  const topHits = (found: SeenHit[], k: number): SeenHit[] => {
    const hits = found.sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
    if (isLying('an exact search misses the best hit')) hits.shift();
    if (isLying('a search is not sorted')) hits.reverse();
    if (hits.length > 0 && isLying('a search shows a hit twice')) hits.splice(1, 0, hits[0]);
    return hits.slice(0, isLying('a search answers more than k') ? k + 2 : k);
  };

  const step = (client: string, left: number): void => {
    if (left === 0) return;
    const next = (outcome: OperationEnd['outcome']): void =>
      queue.schedule(soon(), () => step(outcome === 'unknown' ? `${client}'` : client, left - 1));
    const start = { client, coordinator: pick(COORDINATORS) };
    const kind = random();
    if (kind < 0.2) write(client, 'upsert', someIds(1), next);
    else if (kind < 0.34) write(client, 'bulk_upsert', someIds(5), next);
    else if (kind < 0.44) write(client, 'delete', someIds(1), next);
    else if (kind < 0.5) write(client, 'delete_batch', someIds(4), next);
    else if (kind < 0.7) fetch({ ...start, kind: 'get' }, someIds(1), next);
    else if (kind < 0.78) fetch({ ...start, kind: 'fetch' }, someIds(6), next);
    else if (kind < 0.85) count({ ...start, kind: 'count' }, next);
    else if (kind < 0.92) exportAll({ ...start, kind: 'export' }, next);
    else
      search(
        { ...start, kind: 'search' },
        {
          query: `q${left}`,
          k: 1 + Math.floor(random() * 5),
          exact: true,
          ...(random() < 0.4 ? { group: Math.floor(random() * GROUPS) } : {}),
        },
        next,
      );
  };

  for (let client = 0; client < clients; client += 1) step(`c${client}`, operationsPerClient);
  queue.run();
  const ignore = (): void => undefined;
  for (const coordinator of COORDINATORS) {
    const start = { client: `final-${coordinator}`, coordinator, final: true };
    fetch({ ...start, kind: 'fetch' }, allIds, ignore);
    exportAll({ ...start, kind: 'export' }, ignore);
    exportAll({ ...start, kind: 'scroll' }, ignore);
    count({ ...start, kind: 'count' }, ignore);
    search({ ...start, kind: 'search' }, { query: 'final', k: idCount, exact: true }, ignore);
  }
  queue.run();
  return history;
}
