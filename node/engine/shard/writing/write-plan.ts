import type { Filter, JsonObject, WordsCondition } from '../../../../shared/contract/filter/filter';
import { expiryAfter, type Expiring, type Expiry, isExpired } from '../../../../shared/contract/writes/expiry';
import { stampAt, timeOfStamp } from '../../../../shared/contract/writes/stamp-time';
import {
  NO_TERM,
  NO_VERSION,
  type Conditional,
  type ExpireOperation,
  type ImportOperation,
  type ItemOperation,
  ANY_VERSION,
  type DedupOperation,
  type WriteOutcome,
  type WriteResult,
} from '../../../../shared/contract/shard/shard-client';
import { matches } from '../../filter/matches';
import { type StageState, stageAfter, refusesWrites } from '../../records/shard-stage-state';
import type { VersionCount } from '../../records/version-count';
import type { ShardOperation } from './checked-write';
import { DedupRequest, takeDedup } from './dedup-request';
import type { DedupTable } from './dedup-table';
import { patchedMetadata } from './metadata-patch';
import { parsedMetadata } from '../shard-indexes';

/** What is stored of an item before a batch. */
export interface PriorItem {
  slot: number;
  recno: number;
  stamp: number;
  version: number;
  expiry?: Expiry | undefined;
  /** Whether the version tells when it changed. */
  dated?: boolean | undefined;
  metadata: string;
  text: string | null;
}

/** The item after the batch. */
export interface PlannedItem {
  externalId: string;
  stamp: number;
  /** 0 while versions are not counted. */
  version: number;
  /** 0: never. */
  expiry: Expiry;
  /** Whether the version tells when it changed. */
  dated: boolean;
  metadata: string;
  /** The same, where somebody has parsed it. */
  parsed: JsonObject | undefined;
  text: string | null;
  vector: Float32Array;
}

export interface WritePlan {
  /** By request. */
  results: WriteResult[];
  /** Final states of the ids whose item changes, in the order of their last operation. */
  puts: { item: PlannedItem; prior: PriorItem | null }[];
  /** Items that no longer exist after the batch. */
  deletes: { externalId: string; prior: PriorItem }[];
  /** The gate after the operations. */
  stageState: StageState;
  /** The count of versions after them. */
  versions: VersionCount;
  /** Of each id that was touched while the shard tracked, the number of the last change. */
  changes: { change: number; externalId: string }[];
}

/** What a batch is planned on. */
export interface PlanGround {
  priorOf(externalId: string): PriorItem | null;
  /** The vector of an item that is stored: memory of its own. */
  vectorOf(slot: number): Float32Array;
  stageState: StageState;
  versions: VersionCount;
  /** null: no request has a mark. */
  marks?: DedupTable | null;
  /** Which requests say that versions are counted from them on; default: all. */
  counted?: readonly boolean[] | undefined;
  /** The moment of each request, by which items have expired; default: nothing has. */
  moments?: readonly number[] | undefined;
  /** Whether the versions of each tell when items change, where it has a moment; default: they do. */
  dated?: readonly boolean[] | undefined;
  /** Whether an item has the words that a filter asks for; default: none has. */
  hasWords?(condition: WordsCondition, item: { text: string | null; metadata: JsonObject }): boolean;
  /** The highest version among the stored items but those in these slots. Asked once in the life of a shard. */
  highestVersion(except: ReadonlySet<number>): number;
}

/**
 * Combines the operations of several requests, in order, into one change per id: what a reader would see after applying
 * them one by one. One operation per step, because stored metadata may have to be parsed. An update keeps the stamp,
 * and the metadata and text that it omits. A deleted item that is put again is a new one. What the gate does not let
 * through changes nothing, and neither does a request of which an operation conflicts. To a request, an item that has
 * expired by its moment is not there; one that it is about is removed.
 */
export function* planWrites(requests: ShardOperation[][], ground: PlanGround): Generator<undefined, WritePlan> {
  const planner = new WritePlanner(ground);
  const results: WriteResult[] = [];
  for (const [i, operations] of requests.entries()) {
    planner.begin(operations, {
      isCounted: ground.counted?.[i] ?? true,
      moment: ground.moments?.[i] ?? 0,
      isDated: ground.dated?.[i] ?? true,
    });
    for (const operation of operations) {
      planner.add(operation);
      yield;
    }
    results.push(planner.end(operations));
  }
  return planner.plan(results);
}

class WritePlanner {
  private readonly states: ItemStates = new Map();
  private stageState: StageState;
  private versions: VersionCount;
  /** Of the request under way. */
  private result: WriteResult = { outcomes: [], firstVersion: 0, present: [] };
  /**
   * The ids that it has touched as they were before it, where it may have to be taken back; undefined: they were not
   * touched.
   */
  private before: Map<string, ItemState | undefined> | null = null;
  private versionsBefore: VersionCount;
  private isWithheld = false;
  private marked: DedupRequest | null = null;
  private moment = 0;
  private isDated = false;

  constructor(private readonly ground: PlanGround) {
    this.stageState = ground.stageState;
    this.versions = ground.versions;
    this.versionsBefore = ground.versions;
  }

  begin(
    operations: ShardOperation[],
    { isCounted, moment, isDated }: { isCounted: boolean; moment: number; isDated: boolean },
  ): void {
    this.moment = moment;
    const floor = isDated ? stampAt(moment) : 0;
    if (isCounted && !this.versions.isCounting) this.versions = { isCounting: true, last: this.highestNow() };
    this.versionsBefore = this.versions;
    const firstVersion = this.versions.isCounting ? Math.max(this.versions.last + 1, stampOf(operations), floor) : 0;
    this.isDated = floor > 0 && firstVersion > 0;
    this.result = { outcomes: [], firstVersion, present: [] };
    this.before = operations.some((operation) => isConditional(operation) && operation.alone !== true)
      ? new Map()
      : null;
    this.isWithheld = false;
    const [first] = operations;
    this.marked =
      first?.type === 'dedup' && first.term === NO_TERM ? new DedupRequest(first, this.ground.marks!) : null;
  }

  add(operation: ShardOperation): void {
    const { result } = this;
    result.outcomes.push(this.outcomeOf(operation, result.firstVersion + result.outcomes.length));
  }

  end(operations: ShardOperation[]): WriteResult {
    if (this.isWithheld) this.takeBack();
    this.marked?.end(this.result, operations);
    return this.result;
  }

  plan(results: WriteResult[]): WritePlan {
    const { stageState, versions } = this;
    const puts: WritePlan['puts'] = [];
    const deletes: WritePlan['deletes'] = [];
    const changes: WritePlan['changes'] = [];
    for (const [externalId, { prior, now, change }] of this.states) {
      if (now !== null && 'vector' in now) puts.push({ item: now, prior });
      else if (now === null && prior !== null) deletes.push({ externalId, prior });
      if (change > 0) changes.push({ change, externalId });
    }
    return { results, puts, deletes, stageState, versions, changes };
  }

  private outcomeOf(operation: ShardOperation, version: number): WriteOutcome {
    if (operation.type === 'stage') {
      const after = stageAfter(this.stageState, operation);
      this.stageState = after ?? this.stageState;
      if (after !== null) this.raise(operation.versionFloor ?? 0);
      return after === null ? 'outdated' : 'updated';
    }
    if (operation.type === 'import') {
      if (this.stageState.stage !== 'filling' || operation.term !== this.stageState.term) return 'outdated';
      return this.take(operation);
    }
    if (operation.type === 'dedup' && operation.term !== NO_TERM) return this.takeDedup(operation);
    if (refusesWrites(this.stageState)) return 'refused';
    if (operation.type === 'dedup') return this.marked?.outcome ?? 'outdated';
    const known = this.marked?.known(operation, this.result.outcomes.length) ?? null;
    if (known !== null) return known;
    const outcome = this.follow(operation, version);
    // Whatever its outcome: batches differ between replicas, and each must have the last change of every id.
    if (this.stageState.since > 0) {
      this.stageState = { ...this.stageState, lastChange: this.stageState.lastChange + 1 };
      this.states.get(operation.externalId)!.change = this.stageState.lastChange;
    }
    return outcome;
  }

  private takeDedup(operation: DedupOperation): WriteOutcome {
    if (this.stageState.stage !== 'filling' || operation.term !== this.stageState.term) return 'outdated';
    takeDedup(operation, this.ground.marks!);
    return 'updated';
  }

  /** The item as it is elsewhere takes the place of what is here, with its stamp and version. */
  private take({ externalId, item, parsed }: ImportOperation & { parsed?: JsonObject }): WriteOutcome {
    const state = this.touch(externalId);
    if (item === null) {
      state.now = null;
      return 'deleted';
    }
    const { stamp, version = 0, expiry = 0, dated = false, text, vector } = item;
    const metadata = wellFormed(item.metadata);
    state.now = { externalId, stamp, version, expiry, dated, metadata, parsed, text, vector };
    this.raise(version);
    return 'updated';
  }

  private follow(
    operation: (ItemOperation & { parsed?: JsonObject }) | ExpireOperation,
    version: number,
  ): WriteOutcome {
    const state = this.touch(operation.externalId);
    const hasExpired = state.now !== null && isExpired(state.now.expiry ?? 0, this.moment);
    if (hasExpired) state.now = null;
    if (operation.type === 'expire') return hasExpired ? 'deleted' : 'absent';
    const existed = state.now !== null;
    if (!isAsExpected(operation, state.now)) {
      this.result.present.push(state.now === null ? NO_VERSION : versionOf(state.now));
      if (operation.alone !== true) this.isWithheld = true;
      return 'conflict';
    }
    if (operation.type === 'delete') {
      if (
        state.now !== null &&
        operation.filter !== undefined &&
        !this.passes(operation.filter, operation.externalId, state.now)
      )
        return 'absent';
      state.now = null;
      return existed ? 'deleted' : 'absent';
    }
    const given = this.versions.isCounting ? version : 0;
    if (operation.type === 'patch') {
      const { now } = state;
      if (now === null || (operation.filter !== undefined && !this.passes(operation.filter, operation.externalId, now)))
        return 'absent';
      const metadata =
        operation.metadata === undefined ? now.metadata : patchedMetadata(now.metadata, operation.metadata);
      if (metadata === null) return 'excess';
      const vector = operation.vector ?? ('vector' in now ? now.vector : this.ground.vectorOf(now.slot));
      state.now = {
        externalId: operation.externalId,
        stamp: now.stamp,
        version: given,
        expiry: this.expiryOf(operation, now),
        dated: this.isDated,
        metadata: wellFormed(metadata),
        parsed: undefined,
        text: operation.text ?? now.text,
        vector,
      };
    } else {
      const expiry = this.expiryOf(operation, state.now);
      state.now = updated(operation, state.now, { version: given, expiry, dated: this.isDated });
    }
    this.raise(given);
    return existed ? 'updated' : 'inserted';
  }

  private passes(filter: Filter, externalId: string, item: PlannedItem | PriorItem): boolean {
    const { metadata, text, expiry = 0, dated, version } = item;
    return matches(filter, parsedMetadata(metadata), {
      externalId,
      expiry,
      updatedMs: dated === true ? timeOfStamp(version) : undefined,
      hasWords: (condition, parsed) => this.ground.hasWords?.(condition, { text, metadata: parsed }) === true,
    });
  }

  /** When the item expires that the operation puts. A write without a moment knows nothing of it. */
  private expiryOf(operation: Expiring, now: PlannedItem | PriorItem | null): Expiry {
    const before = now?.expiry ?? 0;
    return this.moment === 0 ? before : expiryAfter(before, operation, this.moment);
  }

  /**
   * The state of an id that an operation is about, put last: the map's order is that of the last operation on each id.
   */
  private touch(externalId: string): ItemState {
    const known = this.states.get(externalId);
    if (this.before !== null && !this.before.has(externalId)) this.before.set(externalId, known && { ...known });
    this.states.delete(externalId);
    const state = known ?? this.stored(externalId);
    this.states.set(externalId, state);
    return state;
  }

  private stored(externalId: string): ItemState {
    const prior = this.ground.priorOf(externalId);
    return { prior, now: prior, change: 0 };
  }

  /** As if the request had not been, but for what it noted of changes. */
  private takeBack(): void {
    for (const [externalId, before] of this.before ?? []) {
      const state = this.states.get(externalId)!;
      state.now = before === undefined ? state.prior : before.now;
    }
    this.versions = this.versionsBefore;
    const { outcomes } = this.result;
    outcomes.forEach((outcome, i) => {
      if (outcome !== 'conflict' && outcome !== 'refused') outcomes[i] = 'withheld';
    });
  }

  private raise(version: number): void {
    if (version > this.versions.last) this.versions = { isCounting: true, last: version };
  }

  /** The highest version of the items as they are now, which is the same on every replica. */
  private highestNow(): number {
    const touched = new Set<number>();
    let highest = 0;
    for (const { prior, now } of this.states.values()) {
      if (prior !== null) touched.add(prior.slot);
      if (now !== null) highest = Math.max(highest, versionOf(now));
    }
    return Math.max(highest, this.ground.highestVersion(touched));
  }
}

interface ItemState {
  prior: PriorItem | null;
  now: PlannedItem | PriorItem | null;
  /** The number of the last change, 0 for none that counts. */
  change: number;
}

type ItemStates = Map<string, ItemState>;

function isConditional(operation: ShardOperation): operation is ItemOperation {
  return 'expected' in operation && operation.expected !== undefined;
}

function isAsExpected({ expected }: Conditional, now: PlannedItem | PriorItem | null): boolean {
  if (expected === undefined) return true;
  if (now === null) return expected === NO_VERSION;
  return expected === ANY_VERSION || expected === versionOf(now);
}

/** The version of an item; its stamp stands for it where versions were not counted when it was stored. */
function versionOf({ version, stamp }: PlannedItem | PriorItem): number {
  return version || stamp;
}

/** The stamp of the first item that a request may put; 0 if it puts none. */
function stampOf(operations: ShardOperation[]): number {
  for (const operation of operations) if (operation.type === 'upsert') return operation.stamp;
  return 0;
}

function updated(
  operation: Extract<ShardOperation, { type: 'upsert' }>,
  existing: PlannedItem | PriorItem | null,
  { version, expiry, dated }: Pick<PlannedItem, 'version' | 'expiry' | 'dated'>,
): PlannedItem {
  return {
    externalId: operation.externalId,
    stamp: existing?.stamp ?? operation.stamp,
    version,
    expiry,
    dated,
    metadata: operation.metadata === undefined ? (existing?.metadata ?? '{}') : wellFormed(operation.metadata),
    parsed: operation.parsed,
    text: operation.text ?? existing?.text ?? null,
    vector: operation.vector,
  };
}

/** JSON text may hold lone surrogates, which UTF-8 can't represent; as escapes they mean the same. */
function wellFormed(json: string): string {
  return json.isWellFormed() ? json : JSON.stringify(JSON.parse(json));
}
