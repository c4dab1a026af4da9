import { createHash } from 'node:crypto';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { AnswerHold } from '../../service/answer-hold';
import type { HeapGrowth } from './heap-growth';
import { ClientGone } from '../body/client-gone';
import { REQUEST_BOUNDS } from '../requests/http-limits';

/**
 * Where the threads of a process show what answers hold: each writes its own part, a sum, then what each caller holds,
 * by two hashes of its name, and what all strangers do. A caller holds no more than the lesser of its two sums; who
 * shares one with another caller hardly ever shares both.
 */
const ROWS = 2;
const CELLS = 1024;
/** Where a part has what all callers hold that nobody knows. */
const STRANGERS = 1 + ROWS * CELLS;
/** Where a part has what holds that were let in by {@link LITTLE_PART}. */
const LITTLE = STRANGERS + 1;
const PART = LITTLE + 1;

/**
 * A request waits before the first byte of its answer, until nobody of its caller has found room for so long: then it
 * is refused.
 */
const WAIT_MS = 1_000;
/** And so many times as long in all: a queue that moves is that of a caller who asks for much at once. */
const WAITS_MAX = 10;
/**
 * Requests of one caller that wait on one thread; further ones are refused at once. As many as the gate lets in: a
 * caller that sends a thousand searches at once has room for some of them, and the others begin as these end.
 */
const WAITING_MAX = 4096;
/** How often it is looked whether another thread has given room back. */
const CHECK_MS = 20;
/**
 * What is read is texts of JavaScript, some of which have two bytes for each character, of which pieces of the answer
 * are made; and what is not needed any more stays in the heap for a while.
 */
const COPIES = 4;
/** From this part of the bound on, heaps are kept small. */
const TIGHT_PART = 1 / 32;
/** Callers whose cells are remembered. */
const KNOWN_MAX = 4096;
/** One read counts for no more than this part of all, or it would never begin where memory is small. */
const ONE_PART = 4;
/**
 * What a read may find counts until it is known, and that of one deep search may be more than all. A caller that holds
 * less than this part of the bound does not wait for it: there is room besides, of {@link LITTLE_SUM_PART}, for all
 * such callers together.
 */
const LITTLE_PART = 32;
const LITTLE_SUM_PART = 8;

/** The memory by which `threads` share one bound. */
export function answerParts(threads: number): Float64Array {
  return new Float64Array(new SharedArrayBuffer(threads * PART * Float64Array.BYTES_PER_ELEMENT));
}

/** Takes back what a thread held that has ended. */
export function forgetAnswerPart(shared: Float64Array, place: number): void {
  shared.fill(0, place * PART, (place + 1) * PART);
}

export interface AnswerBounds {
  /** What all answers of the process may hold. */
  bytesMax: number;
  /** Of one item: what was stored under other limits may have more, and is counted when it is there. */
  metadataBytesMax: number;
  textBytesMax: number;
  /** How long a request waits before its answer has begun, while nobody of its caller finds room; default: a second. */
  waitMs?: number | undefined;
  /** Default: heaps grow as ever. */
  growth?: HeapGrowth;
}

const NO_GROWTH: HeapGrowth = { be: () => undefined };

interface Share {
  caller: string;
  isStranger: boolean;
  /** Places of its two sums in a part. */
  cells: readonly [number, number];
  holds: number;
  waiting: number;
  /** When the last of those that wait found room. */
  movedMs: number;
}

/** The request that an answer is for. */
export interface Asked {
  /** Names who asked. */
  readonly caller: string;
  /** Whether it has no key: whoever has many addresses is many callers. Default: it has one. */
  readonly isStranger?: boolean;
  readonly isGone: boolean;
  /** For how long room is waited for, once the answer has begun; null: it has not. */
  readonly begunMs: number | null;
}

interface Waiter {
  hold: RequestHold;
  share: Share;
  bytes: number;
  isGone: () => boolean;
  begin: () => void;
  /** It is not waited for any more. */
  leave: () => void;
}

/**
 * Bounds what answers hold in all of a process. A caller may hold as much as is left free for all others: one alone
 * half of all, and who comes after some that take all they can get still finds something. All strangers together may
 * hold half.
 */
export class AnswerMemory {
  private readonly shares = new Map<string, Share>();
  private readonly waiting: Waiter[] = [];
  private readonly known = new Map<string, Share['cells']>();
  private timer: NodeJS.Timeout | null = null;
  private readonly own: number;
  private readonly growth: HeapGrowth;

  /** `shared`: by which threads share the bound, and the place of this one. */
  constructor(
    private readonly parts: AnswerBounds,
    private readonly shared: Float64Array = answerParts(1),
    place = 0,
  ) {
    this.own = place * PART;
    this.growth = parts.growth ?? NO_GROWTH;
  }

  /** What the answers of this thread hold. */
  get bytes(): number {
    return this.shared[this.own];
  }

  /** What all hold. */
  private get all(): number {
    return this.sumOf(0);
  }

  holdOf(asked: Asked): RequestHold {
    return new RequestHold(this, asked, this.parts);
  }

  /** Whether there is room for a caller that holds little, whatever others do. */
  hasRoomForLittle(
    share: Share | null,
    { caller, isStranger }: Pick<Asked, 'caller' | 'isStranger'>,
    bytes: number,
  ): boolean {
    const { bytesMax } = this.parts;
    if (isStranger === true || this.heldBy(share?.cells ?? this.cellsOf(caller)) + bytes > bytesMax / LITTLE_PART)
      return false;
    return this.sumOf(LITTLE) + bytes <= bytesMax / LITTLE_SUM_PART;
  }

  /** Whether a caller may hold so many bytes more. */
  hasRoom(share: Share | null, asked: Pick<Asked, 'caller' | 'isStranger'>, bytes: number): boolean {
    const { all } = this;
    const { bytesMax } = this.parts;
    // What all hold together, each may hold.
    if (all + bytes <= bytesMax / 2) return true;
    if (asked.isStranger === true && this.sumOf(STRANGERS) + Math.min(bytes, bytesMax / ONE_PART) > bytesMax / 2)
      return false;
    return (
      this.heldBy(share?.cells ?? this.cellsOf(asked.caller)) + Math.min(bytes, bytesMax / ONE_PART) <= bytesMax - all
    );
  }

  /** Whether a caller holds all that it may. */
  isOverdrawn(share: Share | null, asked: Pick<Asked, 'caller'>): boolean {
    const { all } = this;
    const { bytesMax } = this.parts;
    if (all <= bytesMax / 2) return false;
    return this.heldBy(share?.cells ?? this.cellsOf(asked.caller)) >= Math.max(bytesMax - all, bytesMax / LITTLE_PART);
  }

  /** Of a caller that begins to hold something. */
  open({ caller, isStranger = false }: Pick<Asked, 'caller' | 'isStranger'>): Share {
    let share = this.shares.get(caller);
    if (share === undefined) {
      share = { caller, isStranger, cells: this.cellsOf(caller), holds: 0, waiting: 0, movedMs: -Infinity };
      this.shares.set(caller, share);
    }
    share.holds += 1;
    return share;
  }

  close(share: Share): void {
    share.holds -= 1;
    if (share.holds === 0) this.shares.delete(share.caller);
  }

  /**
   * So many bytes that are counted are of a hold that had room because its caller holds little; fewer than none: no
   * longer.
   */
  countLittle(bytes: number): void {
    this.shared[this.own + LITTLE] += bytes;
  }

  /** Counts `bytes` more, or less; `isLittle`: of a hold that had room because its caller holds little. */
  count({ cells, isStranger }: Share, bytes: number, isLittle: boolean): void {
    const { shared, own } = this;
    shared[own] += bytes;
    if (isLittle) shared[own + LITTLE] += bytes;
    if (isStranger) shared[own + STRANGERS] += bytes;
    for (const cell of cells) shared[own + cell] += bytes;
    this.growth.be(this.all > this.parts.bytesMax * TIGHT_PART ? 'small' : 'fast');
    if (bytes < 0 && this.waiting.length > 0) this.look();
  }

  /**
   * Resolves when the bytes are counted. Errors: overloaded, when nobody of the caller has found room for `patienceMs`;
   * ClientGone.
   */
  wait(hold: RequestHold, share: Share, bytes: number, patienceMs: number, isGone: () => boolean): Promise<void> {
    if (share.waiting >= WAITING_MAX) return Promise.reject(busy());
    share.waiting += 1;
    const sinceMs = performance.now();
    return new Promise((done, fail) => {
      const end = (): void => {
        clearTimeout(patience);
        share.waiting -= 1;
      };
      const waiter: Waiter = {
        hold,
        share,
        bytes,
        isGone,
        begin: () => {
          share.movedMs = performance.now();
          end();
          done();
        },
        leave: () => {
          end();
          fail(new ClientGone());
        },
      };
      const look = (): void => {
        const leftMs = Math.min(share.movedMs + patienceMs, sinceMs + WAITS_MAX * patienceMs) - performance.now();
        if (leftMs > 0) {
          patience = setTimeout(look, Math.ceil(leftMs));
          return;
        }
        this.waiting.splice(this.waiting.indexOf(waiter), 1);
        end();
        fail(busy());
      };
      let patience = setTimeout(look, patienceMs);
      this.waiting.push(waiter);
      this.timer ??= setInterval(() => this.look(), CHECK_MS);
    });
  }

  /** Lets those begin for whom there is room, each caller's in their order. */
  private look(): void {
    const full = new Set<Share>();
    for (const waiter of [...this.waiting]) {
      const { hold, share, bytes } = waiter;
      if (waiter.isGone()) {
        this.waiting.splice(this.waiting.indexOf(waiter), 1);
        waiter.leave();
        continue;
      }
      if (full.has(share)) continue;
      if (!hold.letIn(bytes)) {
        full.add(share);
        continue;
      }
      this.waiting.splice(this.waiting.indexOf(waiter), 1);
      this.count(share, bytes, hold.isLittle);
      waiter.begin();
    }
    if (this.waiting.length > 0 || this.timer === null) return;
    clearInterval(this.timer);
    this.timer = null;
  }

  private cellsOf(caller: string): Share['cells'] {
    let cells = this.known.get(caller);
    if (cells === undefined) {
      cells = cellsOf(caller);
      if (this.known.size >= KNOWN_MAX) this.known.clear();
      this.known.set(caller, cells);
    }
    return cells;
  }

  /** Over all threads. */
  private sumOf(cell: number): number {
    let sum = 0;
    for (let at = cell; at < this.shared.length; at += PART) sum += this.shared[at];
    return sum;
  }

  private heldBy(cells: Share['cells']): number {
    const { shared } = this;
    let first = 0;
    let second = 0;
    for (let at = 0; at < shared.length; at += PART) {
      first += shared[at + cells[0]];
      second += shared[at + cells[1]];
    }
    return Math.min(first, second);
  }
}

/** What one answer holds: what was read for it, and what was given to its connection and is not taken yet. */
export class RequestHold implements AnswerHold {
  private share: Share | null = null;
  /** Bytes of what is read, of texts made of it, and of what the connection was given. */
  private read = 0;
  private text = 0;
  private sent = 0;
  private counted = 0;
  private hasLittle = false;

  constructor(
    private readonly memory: AnswerMemory,
    private readonly asked: Asked,
    private readonly bounds: AnswerBounds,
  ) {}

  itemBytesMax(texts: boolean): number {
    const { metadataBytesMax, textBytesMax } = this.bounds;
    return REQUEST_BOUNDS.externalIdCharactersMax + metadataBytesMax + (texts ? textBytesMax : 0);
  }

  reserve(bytes: number): Promise<void> | undefined {
    return this.resize('read', bytes * COPIES);
  }

  reserveText(bytes: number): Promise<void> | undefined {
    return this.resize('text', bytes);
  }

  keep(bytes: number): void {
    this.read = bytes * COPIES;
    this.settle();
  }

  hasRoom(bytes: number): boolean {
    const more = bytes * COPIES - this.read;
    return more <= 0 || (!this.isBehind && this.roomFor(more) !== null);
  }

  /**
   * Before anything is begun for the request: resolves once its caller does not hold all that it may; undefined: it
   * does not. Much of that is often what reads under way might find, and is given back in a moment. Errors: overloaded;
   * ClientGone.
   */
  mayBegin(): Promise<void> | undefined {
    return this.memory.isOverdrawn(this.share, this.asked)
      ? this.waitFor('read', 1).then(() => this.keep(0))
      : undefined;
  }

  /**
   * Whether the caller may hold so many bytes more of an answer that is made, which are counted from when they are
   * sent.
   */
  takes(bytes: number): boolean {
    return this.letIn(bytes);
  }

  /** Whether the caller may {@link keep} so many bytes. */
  takesRead(bytes: number): boolean {
    const more = bytes * COPIES - this.read;
    return more <= 0 || this.letIn(more);
  }

  /** Whether it had room because its caller holds little. */
  get isLittle(): boolean {
    return this.hasLittle;
  }

  /** So many bytes are with the connection and not taken by the system. */
  sending(bytes: number): void {
    this.sent = bytes;
    this.settle();
  }

  /** Nothing is held any more, but what the connection has. */
  releaseRead(): void {
    this.read = 0;
    this.text = 0;
    this.settle();
  }

  /** Whether others of the caller wait, who come first. */
  private get isBehind(): boolean {
    return this.share !== null && this.share.waiting > 0;
  }

  private resize(part: 'read' | 'text', bytes: number): Promise<void> | undefined {
    const more = bytes - this[part];
    if (more > 0 && (this.isBehind || !this.letIn(more))) return this.waitFor(part, more);
    this[part] = bytes;
    this.settle();
    return undefined;
  }

  /** Why there is room for so many bytes more; null: there is none. */
  private roomFor(bytes: number): 'all' | 'little' | null {
    const { memory, share, asked } = this;
    if (memory.hasRoom(share, asked, bytes)) return 'all';
    return (this.hasLittle || this.counted === 0) && memory.hasRoomForLittle(share, asked, bytes) ? 'little' : null;
  }

  /**
   * Whether there is room for so many bytes more. Then notes why: other threads change what there is at any time, so it
   * is asked once.
   */
  letIn(bytes: number): boolean {
    const room = this.roomFor(bytes);
    if (room === null) return false;
    const isLittle = room === 'little';
    if (isLittle !== this.hasLittle) this.memory.countLittle(isLittle ? this.counted : -this.counted);
    this.hasLittle = isLittle;
    return true;
  }

  private async waitFor(part: 'read' | 'text', more: number): Promise<void> {
    const share = (this.share ??= this.memory.open(this.asked));
    try {
      await this.memory.wait(
        this,
        share,
        more,
        this.asked.begunMs ?? this.bounds.waitMs ?? WAIT_MS,
        () => this.asked.isGone,
      );
    } catch (error) {
      if (this.counted === 0) this.forget();
      throw error;
    }
    this.counted += more;
    this[part] += more;
    if (!this.asked.isGone) return;
    this.releaseRead();
    throw new ClientGone();
  }

  private settle(): void {
    const bytes = this.read + this.text + this.sent;
    if (bytes === this.counted) return;
    this.share ??= this.memory.open(this.asked);
    this.memory.count(this.share, bytes - this.counted, this.hasLittle);
    this.counted = bytes;
    if (bytes === 0) this.forget();
  }

  private forget(): void {
    if (this.share !== null) this.memory.close(this.share);
    this.share = null;
  }
}

/** Of answers that there is no room for. */
class AnswersBusy extends QuiverError {}

/** Whether an error is one of {@link busy}. */
export function isBusy(error: unknown): error is QuiverError {
  return error instanceof AnswersBusy;
}

/** What is said where there is no room. */
export function busy(): QuiverError {
  return new AnswersBusy(
    'overloaded',
    'server busy: answers that wait for their readers take all the memory that is for them; try again in a moment',
  );
}

function cellsOf(caller: string): Share['cells'] {
  const hash = createHash('sha256').update(caller).digest();
  return [1 + (hash.readUInt32LE(0) % CELLS), 1 + CELLS + (hash.readUInt32LE(4) % CELLS)];
}
