import { inLaterSlices } from '../../../shared/base/time/work-slices';

/** Ids that are sorted at once: a millisecond or two. */
const RUN_SLOTS = 2_048;
/** What was put since is taken into the order by so many, some milliseconds each; fewer are compared one by one. */
const FRESH_MAX = 512;
/** With more of these the order is given up: nobody has asked for it in a while. */
const CHANGED_MAX = 65_536;
/** Slots in one step of what looks at all. */
const STEP_SLOTS = 1_024;
/** Entries that one call passes: a fraction of a millisecond. */
const PASSED_MAX = 65_536;
/** After this long without a question it is dropped. */
const IDLE_MS = 300_000;

/** The directory whose slots they are. */
interface SlotIds {
  liveSlots(): Iterable<number>;
  isLive(slot: number): boolean;
  externalIdOf(slot: number): string;
}

interface Run {
  slots: Uint32Array;
  next: number;
  /** Of the next one. */
  id: string;
}

/**
 * Slots by their external ids: four bytes each. It is made when it is first wanted, in the time that others leave, and
 * follows what is put and emptied since.
 */
export class IdOrder {
  /** Some entries are wrong: those of slots that are `changed`. */
  private sorted: Uint32Array | null = null;
  private changed = new Uint32Array(0);
  private fresh: number[] = [];
  private isMaking = false;
  private idle: NodeJS.Timeout | null = null;

  constructor(
    private readonly ids: SlotIds,
    private readonly limits = { changed: CHANGED_MAX, passed: PASSED_MAX, idleMs: IDLE_MS },
  ) {}

  get memoryBytes(): number {
    return (this.sorted?.byteLength ?? 0) + this.changed.byteLength + 8 * this.fresh.length;
  }

  /** A slot was put, or is about to be emptied. */
  touch(slot: number): void {
    if ((this.sorted === null && !this.isMaking) || this.isChanged(slot)) return;
    if (slot >>> 5 >= this.changed.length) {
      const grown = new Uint32Array(Math.ceil(((slot >>> 5) + 1) * 1.25));
      grown.set(this.changed);
      this.changed = grown;
    }
    this.changed[slot >>> 5] |= 1 << (slot & 31);
    this.fresh.push(slot);
    if (this.fresh.length > this.limits.changed) this.forget();
  }

  /** Whether `next` can be asked; if not, it begins to be made. */
  isReady(): boolean {
    this.idle ??= setTimeout(() => this.forget(), this.limits.idleMs).unref();
    this.idle.refresh();
    if (this.sorted === null && !this.isMaking) void this.make();
    return this.sorted !== null;
  }

  /** Before `next`: takes in what has changed. */
  *refresh(): Generator<undefined, void> {
    while (this.sorted !== null && this.fresh.length > FRESH_MAX) {
      this.sorted = this.with(this.fresh.splice(0, FRESH_MAX), this.sorted);
      yield;
    }
  }

  /**
   * The first live slots of a bitmap whose ids are behind `externalId` (null: from the first on): `count` of them, or
   * fewer where these are far apart. `last`: all up to that id are among them; null: there are no more.
   */
  next(externalId: string | null, count: number, bitmap: Uint32Array): { slots: number[]; last: string | null } {
    const { ids, sorted } = this;
    if (sorted === null) throw new Error('there is no order of ids');
    const found: { slot: number; id: string }[] = [];
    const isIn = (slot: number): boolean => ((bitmap[slot >>> 5] ?? 0) & (1 << (slot & 31))) !== 0 && ids.isLive(slot);
    const from = externalId === null ? 0 : this.placeBehind(sorted, externalId);
    let last: string | null = null;
    for (let at = from; at < sorted.length && last === null; at += 1) {
      const slot = sorted[at];
      if (this.isChanged(slot)) continue;
      if (isIn(slot)) found.push({ slot, id: ids.externalIdOf(slot) });
      if (found.length === count || at - from >= this.limits.passed) last = ids.externalIdOf(slot);
    }
    for (const slot of this.fresh) {
      if (!isIn(slot)) continue;
      const id = ids.externalIdOf(slot);
      if ((externalId === null || id > externalId) && (last === null || id < last)) found.push({ slot, id });
    }
    const first = found.sort(byId).slice(0, count);
    return { slots: first.map(({ slot }) => slot), last: first.length === count ? first[count - 1].id : last };
  }

  private isChanged(slot: number): boolean {
    return slot >>> 5 < this.changed.length && (this.changed[slot >>> 5] & (1 << (slot & 31))) !== 0;
  }

  /** Gives up its memory. It is made again when it is next wanted. */
  forget(): void {
    if (this.idle !== null) clearTimeout(this.idle);
    this.idle = null;
    this.sorted = null;
    this.isMaking = false;
    this.changed = new Uint32Array(0);
    this.fresh = [];
  }

  /** The place of the first id behind this one. */
  private placeBehind(sorted: Uint32Array, externalId: string): number {
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      let at = middle;
      while (at < high && this.isChanged(sorted[at])) at += 1;
      if (at === high || this.ids.externalIdOf(sorted[at]) > externalId) high = middle;
      else low = at + 1;
    }
    return low;
  }

  /** The order with these slots where they belong now. */
  private with(slots: number[], before: Uint32Array): Uint32Array {
    const { ids } = this;
    const gone = new Set(slots);
    const added = slots
      .filter((slot) => ids.isLive(slot))
      .map((slot) => ({ slot, id: ids.externalIdOf(slot) }))
      .sort(byId);
    const places = added.map(({ id }) => this.placeBehind(before, id));
    const after = new Uint32Array(before.length + added.length);
    let count = 0;
    let next = 0;
    for (let at = 0; at <= before.length; at += 1) {
      for (; next < added.length && places[next] === at; next += 1) after[count++] = added[next].slot;
      if (at === before.length) break;
      const slot = before[at];
      if (!this.isChanged(slot) || !gone.has(slot)) after[count++] = slot;
    }
    for (const slot of slots) this.changed[slot >>> 5] &= ~(1 << (slot & 31));
    return after.subarray(0, count);
  }

  private async make(): Promise<void> {
    this.isMaking = true;
    try {
      await inLaterSlices(this.makeSteps());
    } catch {
      // What runs out of memory is tried again when it is next wanted.
      this.forget();
    }
  }

  private *makeSteps(): Generator<undefined, void> {
    const { fresh } = this;
    const runs: Run[] = [];
    let slots: number[] = [];
    const addRun = (): void => {
      const sorted = slots
        .filter((slot) => this.ids.isLive(slot))
        .map((slot) => ({ slot, id: this.ids.externalIdOf(slot) }))
        .sort(byId)
        .map(({ slot }) => slot);
      runs.push({ slots: Uint32Array.from(sorted), next: 0, id: '' });
      slots = [];
    };
    let count = 0;
    for (const slot of this.ids.liveSlots()) {
      slots.push(slot);
      if (slots.length < RUN_SLOTS) continue;
      addRun();
      count += RUN_SLOTS;
      yield;
      if (this.fresh !== fresh) return;
    }
    count += slots.length;
    addRun();
    const sorted = new Uint32Array(count);
    const heap = new RunHeap(runs.filter((run) => this.isAtNext(run)));
    let made = 0;
    for (let run = heap.first; run !== undefined; run = heap.first) {
      sorted[made++] = run.slots[run.next++];
      heap.replaceFirst(this.isAtNext(run));
      if (made % STEP_SLOTS !== 0) continue;
      yield;
      if (this.fresh !== fresh) return;
    }
    this.sorted = sorted.subarray(0, made);
    this.isMaking = false;
  }

  /** Reads the id of the next slot that has not changed. */
  private isAtNext(run: Run): boolean {
    while (run.next < run.slots.length && this.isChanged(run.slots[run.next])) run.next += 1;
    if (run.next === run.slots.length) return false;
    run.id = this.ids.externalIdOf(run.slots[run.next]);
    return true;
  }
}

/** Runs, that with the least id first. */
class RunHeap {
  constructor(private readonly runs: Run[]) {
    for (let at = (runs.length >> 1) - 1; at >= 0; at -= 1) this.sink(at);
  }

  get first(): Run | undefined {
    return this.runs[0];
  }

  /** The first has another id, or none. */
  replaceFirst(hasMore: boolean): void {
    const { runs } = this;
    if (!hasMore) {
      const last = runs.pop()!;
      if (runs.length === 0) return;
      runs[0] = last;
    }
    this.sink(0);
  }

  private sink(from: number): void {
    const { runs } = this;
    for (let at = from; ;) {
      let least = at;
      for (let child = 2 * at + 1; child <= 2 * at + 2 && child < runs.length; child += 1)
        if (runs[child].id < runs[least].id) least = child;
      if (least === at) return;
      [runs[at], runs[least]] = [runs[least], runs[at]];
      at = least;
    }
  }
}

function byId(a: { id: string }, b: { id: string }): number {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
