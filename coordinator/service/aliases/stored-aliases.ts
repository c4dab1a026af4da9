import { setTimeout as sleep } from 'node:timers/promises';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import type { ClusterStore, Guard } from '../../../shared/cluster-store/cluster-store';
import { WatchedEntries } from '../../../shared/cluster-store/entries/watched-entries';
import type { AliasAction, AliasesService, AliasView } from '../aliases-service';
import {
  ALIASES_MAX,
  ALIASES_PATH,
  aliasesFromEntry,
  aliasesToValue,
  type AliasRecord,
  type AliasTable,
} from '../collections/alias-record';
import type { CollectionCatalog } from '../collections/collection-catalog';
import type { CollectionObstacle } from '../collections/collection-obstacle';
import { collectionPath } from '../collections/collection-record';
import { LostAnswers } from '../collections/lost-answers';
import { mustBeFirst, outcomeTransaction, type StoreDedup } from '../idempotency/store-dedup';
import { roleFor, type Scoped } from '../keys/collection-scope';
import { AliasNames, type AliasTenure, type KnownAlias } from './alias-names';
import { mustWrite, seesAlias } from '../keys/alias-rights';

/** Every failed attempt means that another change was made. So many in a row mean that the store is out of order. */
const ATTEMPTS_MAX = 32;

/** Who has to know of a change before its maker gets the answer, besides this thread. */
export interface AliasAudience {
  /** Resolves when all know the aliases as of this revision, or are gone. Errors: unavailable. */
  know(revision: number): Promise<void>;
  /** What each of the others, as far as they are known here, says of a name; null: one does not answer in time. */
  ask(name: string): Promise<(HeardAlias | null)[]>;
}

/** Where this process alone has the aliases. */
export const NO_AUDIENCE: AliasAudience = { know: async () => undefined, ask: async () => [] };

/** What a process says of a name. */
export interface HeardAlias {
  /** Whether it is certain of it. */
  isHeld: boolean;
  /** Of the store, at the last change of aliases that it knows. */
  revision: number;
  /** What the name stands for; its own: it is no alias. */
  collection: string;
}

/** How long the store may take before the others are asked instead. */
const STORE_MS = 300;

interface Parts {
  store: ClusterStore;
  catalog: Pick<CollectionCatalog, 'known' | 'readEntry'>;
  clock: Pick<Clock, 'wallMs'>;
  log: Logger;
  tenure: AliasTenure;
  obstacle: CollectionObstacle;
  audience: AliasAudience;
}

/** The aliases in the cluster store, and in the memory of this thread, which follows it. */
export class StoredAliases implements AliasesService {
  /** For requests that this thread serves. */
  readonly names: AliasNames;
  private readonly entries: WatchedEntries<AliasTable>;
  private readonly listeners = new Set<() => void>();
  private synced: () => Promise<void> = async () => undefined;
  /** The reading of the store that has not begun, for all who ask before it does. */
  private next: Promise<void> | null = null;
  private reading: Promise<unknown> = Promise.resolve();
  /** Whether the store did not answer the last question in time. */
  private isStoreLate = false;
  /** What everybody knew, with its revision: that of a store that was put back may come again. */
  private settledAs: { revision: number; value: string } | null = null;

  constructor(private readonly parts: Parts) {
    const { store, log, tenure } = parts;
    this.entries = new WatchedEntries({
      store,
      prefix: ALIASES_PATH,
      decode: aliasesFromEntry,
      onUnreadable: (error) =>
        log.error({ error }, 'the stored aliases are unreadable: there are none until that is mended'),
    });
    this.names = new AliasNames({
      tenure,
      isCollection: (name) => parts.catalog.known(name) !== null,
      ask: (name) => this.resolve(name),
    });
    this.entries.onChange(() => {
      this.names.put(this.all());
      for (const listener of this.listeners) listener();
    });
  }

  /** Starts to follow the store; does nothing if it does already. Errors: unavailable. */
  follow(): Promise<void> {
    return this.entries.follow();
  }

  close(): void {
    this.entries.close();
  }

  /** Tells all aliases, and from now on again after each change. Answers what ends that. */
  onChange(listener: (aliases: KnownAlias[]) => void): () => void {
    const tell = (): void => listener(this.all());
    tell();
    this.listeners.add(tell);
    return () => this.listeners.delete(tell);
  }

  /** `synced` resolves when all threads of the process know what this one has told them. */
  servedBy(synced: () => Promise<void>): void {
    this.synced = synced;
  }

  /** Resolves when all threads of this process know the aliases as of this revision, or later. */
  async known(revision: number): Promise<void> {
    if (this.revision < revision)
      await new Promise<void>((done) => {
        const end = this.entries.onChange(() => {
          if (this.revision < revision) return;
          end();
          done();
        });
      });
    await this.synced();
  }

  /** Reads the store, later than this call. Errors: unavailable. */
  refresh(): Promise<void> {
    this.next ??= this.reading.then(() => {
      this.next = null;
      const refreshed = this.entries.refresh();
      this.reading = refreshed.catch(() => undefined);
      return refreshed;
    });
    return this.next;
  }

  async settled(): Promise<void> {
    await this.refresh();
    const { revision } = this;
    // There never were any.
    if (revision === 0) return;
    const value = aliasesToValue(this.table);
    if (this.settledAs?.revision === revision && this.settledAs.value === value) return;
    await this.known(revision);
    await this.parts.audience.know(revision);
    this.settledAs = { revision, value };
  }

  /** What this process knows of a name, for another that is not certain. */
  tell(name: string): HeardAlias {
    return {
      isHeld: this.parts.tenure.isHeld(),
      revision: this.revision,
      collection: this.names.known(name) ?? name,
    };
  }

  async resolve(name: string): Promise<string> {
    // A thread has met few collections.
    if (this.names.known(name) === null && this.parts.catalog.known(name) !== null) return name;
    const refreshed = this.refresh().then(
      () => {
        this.isStoreLate = false;
        return true;
      },
      () => false,
    );
    const isRead = !this.isStoreLate && (await Promise.race([refreshed, sleep(STORE_MS).then(() => false)]));
    if (isRead) return this.names.known(name) ?? name;
    this.isStoreLate = true;
    const heard = await this.heardFrom(name);
    if (heard !== null) return heard;
    if (await refreshed) return this.names.known(name) ?? name;
    throw new QuiverError(
      'unavailable',
      `whether alias ${JSON.stringify(name)} was moved can't be told while the cluster store is away ` +
        "and another coordinator does not answer; the collection's own name works",
    );
  }

  /**
   * What a name stands for by what all say together: who is certain knows the last change, and where nobody is, the
   * store is away for all, so nothing changes. null: it can't be told.
   */
  private async heardFrom(name: string): Promise<string | null> {
    const answers = await this.parts.audience.ask(name);
    const heard = [this.tell(name), ...answers.filter((answer) => answer !== null)];
    if (heard.length <= answers.length && !heard.some(({ isHeld }) => isHeld)) return null;
    // Revisions of a store that was put back are smaller than those before.
    const certain = heard.filter(({ isHeld }) => isHeld);
    return (certain.length > 0 ? certain : heard).reduce((last, one) => (one.revision > last.revision ? one : last))
      .collection;
  }

  async list(caller?: Scoped): Promise<AliasView[]> {
    const table = aliasesFromEntry(await this.parts.store.get(ALIASES_PATH));
    return [...table]
      .filter(([alias, { collection }]) => caller === undefined || seesAlias(caller, alias, collection))
      .map(([alias, record]) => viewOf(alias, record))
      .sort((a, b) => (a.alias < b.alias ? -1 : 1));
  }

  async change(actions: readonly AliasAction[], caller?: Scoped, dedup?: StoreDedup): Promise<AliasView[]> {
    const { store, obstacle } = this.parts;
    const reason = obstacle('aliases', 'collections can have aliases');
    if (reason !== null) throw new QuiverError('unavailable', reason);
    const lost = new LostAnswers();
    let sent: string | null = null;
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const found = await lost.orLost(store.get(ALIASES_PATH));
      let table = aliasesFromEntry(found);
      // Of an attempt before, whose answer was lost.
      if (found === null || found.value !== sent) {
        const changed = await this.changed(table, actions, caller);
        table = changed.table;
        const value = aliasesToValue(table);
        const { guards, changes } = outcomeTransaction(dedup, viewsOf(table, actions));
        const result = await lost.unlessLost(
          store.transact(
            [{ key: ALIASES_PATH, revision: found?.revision ?? 0 }, ...changed.guards, ...guards],
            [{ type: 'put', key: ALIASES_PATH, value }, ...changes],
          ),
        );
        sent = value;
        if (result === null) continue;
        mustBeFirst(dedup, result);
        if (!result.applied) continue;
        this.entries.put({ key: ALIASES_PATH, value, revision: result.revision });
      }
      return viewsOf(table, actions);
    }
    throw new QuiverError(
      'unavailable',
      'the aliases could not be changed: the cluster store is too busy; the call may be retried',
    );
  }

  /** What the actions make of a table, as long as the guards hold. Errors: as `change`. */
  private async changed(
    table: AliasTable,
    actions: readonly AliasAction[],
    caller: Scoped | undefined,
  ): Promise<{ table: AliasTable; guards: Guard[] }> {
    const { store, catalog, clock } = this.parts;
    const next = new Map(table);
    const guards = new Map<string, number>();
    const now = new Date(clock.wallMs()).toISOString();
    for (const action of actions) {
      const { alias } = action;
      mustWrite(caller, alias);
      const present = next.get(alias);
      if (action.type === 'create') {
        const key = collectionPath(alias);
        if ((await store.get(key)) !== null)
          throw new QuiverError('already_exists', `"${alias}" is the name of a collection, so no alias can have it`);
        guards.set(key, 0);
        if (present !== undefined)
          throw new QuiverError(
            'already_exists',
            `alias "${alias}" already exists (GET /v1/aliases): switch it to move it to another collection`,
          );
      } else if (present === undefined) throw new QuiverError('not_found', `alias "${alias}" does not exist`);
      if (action.type === 'delete') {
        next.delete(alias);
        continue;
      }
      const name = next.get(action.collection)?.collection ?? action.collection;
      const handsOn = mustWrite(caller, name, JSON.stringify(action.collection));
      const { entry } = await catalog.readEntry(name);
      guards.set(entry.key, entry.revision);
      next.set(alias, {
        collection: name,
        createdAt: present?.createdAt ?? now,
        switchedAt: present === undefined ? null : now,
        handsOn,
      });
    }
    if (next.size > ALIASES_MAX && next.size > table.size)
      throw new QuiverError('limit_exceeded', `there may be at most ${ALIASES_MAX} aliases; delete some first`);
    if (caller !== undefined && next.size > table.size) mustLeaveRoom(next, table.size, caller);
    return { table: next, guards: [...guards].map(([key, revision]) => ({ key, revision })) };
  }

  private get revision(): number {
    return this.entries.get(ALIASES_PATH)?.revision ?? 0;
  }

  private get table(): AliasTable {
    return this.entries.get(ALIASES_PATH)?.value ?? new Map<string, AliasRecord>();
  }

  private all(): KnownAlias[] {
    return [...this.table].map(([alias, { collection, handsOn }]) => [alias, collection, handsOn]);
  }
}

/** A key that is limited to some names has no more aliases than are left for all others. Errors: limit_exceeded. */
function mustLeaveRoom(table: AliasTable, before: number, caller: Scoped): void {
  if (caller.collections === null) return;
  let own = 0;
  for (const alias of table.keys()) if (roleFor(caller, alias) !== null) own += 1;
  if (own > ALIASES_MAX - before)
    throw new QuiverError(
      'limit_exceeded',
      `there are ${own} aliases under the names of this key, and no more than are left for all others ` +
        `(of ${ALIASES_MAX}); delete some first`,
    );
}

/** Those that are named, once each, as far as they are there. */
function viewsOf(table: AliasTable, actions: readonly AliasAction[]): AliasView[] {
  return [...new Set(actions.map(({ alias }) => alias))].flatMap((alias) => {
    const record = table.get(alias);
    return record === undefined ? [] : [viewOf(alias, record)];
  });
}

function viewOf(alias: string, { collection, createdAt, switchedAt }: AliasRecord): AliasView {
  return { alias, collection, createdAt, switchedAt };
}
