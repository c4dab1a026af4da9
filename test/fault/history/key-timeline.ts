import type { KeyOperation } from './key-operation';
import type { Operation } from './operation';

/** A stretch of time in which something held for sure, from the end of one operation to the first that may end it. */
interface CertainStretch {
  from: number;
  until: number;
  /** The state for sure in it; null: present, with any value. */
  value: string | null;
  evidence: KeyOperation;
}

/** One write of a value, and the time in which the value may be live. */
export interface ValueLife {
  write: KeyOperation;
  /** The write has taken effect by now: its end, or that of the first read that shows its value. */
  effectBy: number;
  /** From here on the value is gone for sure. */
  goneBy: number;
  /** What shows that it is gone; null while nothing does. */
  goneEvidence: KeyOperation | null;
}

/** When an id came to be there; see `insertionOf`. */
export interface Insertion {
  earliest: number;
  latest: number;
  origin: KeyOperation | null;
}

/**
 * What may and what must have been the state of one id at any time, from the operations on it alone. A value is written
 * once, so that once it was seen to be replaced it can't come back.
 */
export class KeyTimeline {
  /** By value; values of writes that failed are not here. */
  readonly lives = new Map<string, ValueLife>();
  readonly operations: readonly KeyOperation[];
  /** By value. */
  private readonly insertions = new Map<string, Insertion>();
  private readonly presences: CertainStretch[] = [];
  private readonly stays: CertainStretch[] = [];

  /** `sightings`: when a value of this id was shown by other reads (searches, exports) first; by value. */
  constructor(operations: readonly KeyOperation[], sightings: ReadonlyMap<string, number> = new Map()) {
    this.operations = operations;
    for (const write of operations) {
      if (write.type !== 'upsert' || write.value === null) continue;
      this.lives.set(write.value, {
        write,
        effectBy: Math.min(write.ret, sightings.get(write.value) ?? Infinity),
        goneBy: Infinity,
        goneEvidence: null,
      });
    }
    for (const read of operations) {
      const life = read.type === 'read' && read.value !== null ? this.lives.get(read.value) : undefined;
      if (life !== undefined) life.effectBy = Math.min(life.effectBy, read.ret);
    }
    for (const life of this.lives.values()) this.endLife(life);
    for (const operation of operations) this.noteCertainty(operation);
  }

  /** Whether `value` may have been the state at some time from `inv` to `ret`. */
  mayBeLive(value: string, inv: number, ret: number): boolean {
    const life = this.lives.get(value);
    return life !== undefined && life.write.inv < ret && inv < life.goneBy;
  }

  mayBePresent(inv: number, ret: number): boolean {
    for (const life of this.lives.values()) if (life.write.inv < ret && inv < life.goneBy) return true;
    return false;
  }

  /** What shows that the id was there from `inv` to `ret` without a break; null when it may have been away. */
  presentThroughout(inv: number, ret: number): KeyOperation | null {
    return this.presences.find(({ from, until }) => from <= inv && ret <= until)?.evidence ?? null;
  }

  /** The value that was the state from `inv` to `ret` for sure; null when none was. */
  valueThroughout(inv: number, ret: number): string | null {
    return this.stays.find(({ from, until }) => from <= inv && ret <= until)?.value ?? null;
  }

  /**
   * When the id came to be there without a break up to the write of `value`, as an export's order tells: between
   * `earliest` and `latest`. `origin` is the one upsert that can have brought it, when there is but one.
   */
  insertionOf(value: string, seenBy: number): Insertion {
    const life = this.lives.get(value);
    if (life === undefined) return { earliest: -Infinity, latest: Infinity, origin: null };
    if (seenBy < life.effectBy) return this.insertionBy(life, seenBy);
    // Every export that shows it asks the same.
    let known = this.insertions.get(value);
    if (known === undefined) this.insertions.set(value, (known = this.insertionBy(life, life.effectBy)));
    return known;
  }

  /** `effectBy`: the write of the value has taken effect by then. */
  private insertionBy({ write }: ValueLife, effectBy: number): Insertion {
    if (write.saw === 'absent') return { earliest: write.inv, latest: effectBy, origin: write };
    let absentSince = -Infinity;
    for (const operation of this.operations)
      if (showsAbsence(operation) && operation.ret < write.inv) absentSince = Math.max(absentSince, operation.inv);
    let earliest = write.inv;
    let origin: KeyOperation | null = write;
    for (const { write: other, effectBy: otherBy } of this.lives.values()) {
      if (other === write || otherBy <= absentSince || other.inv > effectBy) continue;
      earliest = Math.min(earliest, other.inv);
      origin = null;
    }
    let latest = effectBy;
    for (const { from, until } of this.presences) if (until >= effectBy) latest = Math.min(latest, from);
    return { earliest, latest, origin };
  }

  private endLife(life: ValueLife): void {
    for (const operation of this.operations) {
      if (!operation.isCertain || operation.inv <= life.effectBy || operation.ret >= life.goneBy) continue;
      if (operation.value === life.write.value) continue;
      life.goneBy = operation.ret;
      life.goneEvidence = operation;
    }
  }

  private noteCertainty(operation: KeyOperation): void {
    if (!operation.isCertain || operation.value === null) return;
    let present = Infinity;
    let same = Infinity;
    for (const other of this.operations) {
      if (other === operation || other.type === 'read' || this.effectBy(other) < operation.inv || !mayChange(other))
        continue;
      if (other.type === 'delete') present = Math.min(present, other.inv);
      if (other.value !== operation.value) same = Math.min(same, other.inv);
    }
    this.presences.push({ from: operation.ret, until: present, value: null, evidence: operation });
    this.stays.push({ from: operation.ret, until: same, value: operation.value, evidence: operation });
  }

  private effectBy(operation: KeyOperation): number {
    return operation.type === 'upsert' && operation.value !== null
      ? (this.lives.get(operation.value)?.effectBy ?? operation.ret)
      : operation.ret;
  }
}

/** A delete that found nothing changed nothing. */
function mayChange(operation: KeyOperation): boolean {
  return operation.type !== 'delete' || operation.saw !== 'absent';
}

function showsAbsence(operation: KeyOperation): boolean {
  return operation.isCertain && operation.value === null;
}

/** The timelines of all ids of a history, with what its whole-collection reads showed. */
export function timelinesOf(
  byId: ReadonlyMap<string, readonly KeyOperation[]>,
  operations: readonly Operation[],
): Map<string, KeyTimeline> {
  const sightings = new Map<string, Map<string, number>>();
  for (const { outcome, result, ret } of operations) {
    if (outcome !== 'ok') continue;
    for (const { id, value } of [...(result.items ?? []), ...(result.hits ?? [])]) {
      if (value === null) continue;
      let ofId = sightings.get(id);
      if (ofId === undefined) sightings.set(id, (ofId = new Map()));
      ofId.set(value, Math.min(ofId.get(value) ?? Infinity, ret));
    }
  }
  return new Map([...byId].map(([id, list]) => [id, new KeyTimeline(list, sightings.get(id))]));
}
