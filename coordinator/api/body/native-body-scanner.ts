import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import type { AcceptedScan, BodyScannerAddon, ScanAnswer } from '../native/body-scanner';
import { EncodedUpserts } from '../../service/vectors/encoded-upserts';
import {
  type BodyScan,
  type BodyScanner,
  type EncodedBody,
  float32IfNumbers,
  type ItemBounds,
  type JudgedBody,
  type JudgedList,
  type ScannedList,
  type ScanBounds,
} from './body-scanner';
import { ClientGone } from './client-gone';
import type { BodyMemory } from './body-memory';

/**
 * Scans that may run on libuv's threads at the same time: at most half of the processors, because searches run on those
 * threads, too, and long scans must leave them room.
 */
const SCANS_ASIDE_MAX = Math.max(1, Math.floor(availableParallelism() / 2));

/** Numbers of the vectors of small bodies, which are forgotten soon: in one memory, as in Slab. */
const ROOM_FLOATS = 16 * 1024;
/** More never have a place in a room. */
const ROOM_FLOATS_MAX = ROOM_FLOATS / 8;

/** Numbers are mostly written with a point and some digits, in twice their four bytes. */
const ROOM_SHARE = 0.5;
/**
 * An item takes more characters than its operation has bytes besides the numbers, and a number of four bytes at least
 * two.
 */
const ROOM_SHARE_MAX = 4;

/**
 * The scanner over the addon. Vectors go directly from the bytes of the body into one float buffer; JSON.parse takes
 * the small rest, with a placeholder string for each vector. Placeholders start with a random nonce of this process,
 * which is never sent to anybody, so a client can't write one.
 */
export class NativeBodyScanner implements BodyScanner {
  private readonly addon: BodyScannerAddon;
  private readonly bounds: ScanBounds;
  private readonly nonce = randomBytes(18).toString('hex');
  private readonly requests = new Map<ScannedList | null, { list: string; bounds: Float64Array }>();
  private readonly memory: BodyMemory;
  private readonly scansAsideMax: number;
  /**
   * How many bytes an encoded write has room for at first, for each byte of the body: as many as the body needed that
   * needed most.
   */
  private roomShare = ROOM_SHARE;
  private room = new Float32Array(0);
  /** How many numbers of the room are taken. */
  private used = 0;
  private scansAside = 0;
  private readonly waiting: (() => void)[] = [];

  /** `scansAsideMax`: for tests. */
  constructor(options: { addon: BodyScannerAddon; bounds: ScanBounds; memory: BodyMemory; scansAsideMax?: number }) {
    this.addon = options.addon;
    this.memory = options.memory;
    this.bounds = options.bounds;
    this.scansAsideMax = options.scansAsideMax ?? SCANS_ASIDE_MAX;
  }

  scan(body: Buffer, list: ScannedList | null): BodyScan {
    const request = this.requestFor(list);
    const answer = this.addon.scan(body, this.nonce, request.list, request.bounds, this.room, this.used);
    return Array.isArray(answer) ? this.small(...answer) : this.judged(answer);
  }

  private small(root: string, floats: ArrayBuffer | number, hasLongIntegers?: true): JudgedBody {
    if (typeof floats === 'number') {
      const first = this.used;
      this.used += floats;
      return new NativelyJudgedBody(
        { root, floats: this.room.buffer as ArrayBuffer, hasLongIntegers },
        this.nonce,
        this.bounds.vectorDimMax,
        first,
      );
    }
    // They had no room, which the next ones have if they are not many.
    if (this.room.length - this.used < ROOM_FLOATS_MAX) {
      this.room = new Float32Array(ROOM_FLOATS);
      this.used = 0;
    }
    return new NativelyJudgedBody({ root, floats, hasLongIntegers }, this.nonce, this.bounds.vectorDimMax);
  }

  async scanAside(body: Buffer, list: ScannedList | null, isGone: () => boolean): Promise<BodyScan> {
    const request = this.requestFor(list);
    return this.aside(isGone, async () =>
      this.judged(await this.addon.scanAside(body, this.nonce, request.list, request.bounds)),
    );
  }

  async encodeAside(
    body: Buffer,
    list: ScannedList,
    items: ItemBounds,
    isGone: () => boolean,
  ): Promise<EncodedBody | null> {
    const request = this.requestFor(list);
    const bounds = Float64Array.of(
      ...request.bounds,
      items.metadataBytesMax,
      items.metadataFieldsMax,
      items.metadataDepthMax,
      items.externalIdCharactersMax,
    );
    return this.aside(isGone, async () => {
      // Of this body: if each of several at once doubled what is for all, they would soon ask for more memory than
      // there is.
      let share = this.roomShare;
      let memory = this.memory.take(body.length * share);
      let encoded = await this.addon.encodeAside(body, this.nonce, request.list, bounds, new Uint8Array(memory));
      while (encoded === false && share < ROOM_SHARE_MAX) {
        this.memory.give(memory);
        share *= 2;
        this.roomShare = Math.max(this.roomShare, share);
        memory = this.memory.take(body.length * share);
        encoded = await this.addon.encodeAside(body, this.nonce, request.list, bounds, new Uint8Array(memory));
      }
      if (encoded === null || encoded === false) {
        this.memory.give(memory);
        return null;
      }
      const lent = memory;
      const { root, count, dim, size } = encoded;
      const upserts = new EncodedUpserts({
        count,
        dim,
        bytes: Buffer.from(memory, 0, size),
        memory: {
          divide: (write, shards, ttlMs) => this.addon.divideWrite(write, shards, ttlMs),
          release: (last) => (last === lent ? this.memory.give(last) : this.memory.back(last)),
          discard: (part) => this.memory.discard(part),
        },
      });
      return { root, upserts };
    });
  }

  /** Runs work of libuv's threads when it is its turn. */
  private async aside<Result>(isGone: () => boolean, work: () => Promise<Result>): Promise<Result> {
    if (this.scansAside === this.scansAsideMax) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.scansAside++;
    try {
      if (isGone()) throw new ClientGone();
      return await work();
    } finally {
      // The slot goes to the next in line, or becomes free.
      const next = this.waiting.shift();
      if (next === undefined) this.scansAside--;
      else next();
    }
  }

  private requestFor(list: ScannedList | null): { list: string; bounds: Float64Array } {
    let request = this.requests.get(list);
    if (request === undefined) {
      const { vectorDimMax, jsonDepthMax, jsonValuesMax, requestBytesMax, jsonKeysMax } = this.bounds;
      request = {
        list: list === null ? '' : JSON.stringify(list.name),
        bounds: Float64Array.of(
          vectorDimMax,
          list?.lengthMax ?? 1,
          jsonDepthMax,
          jsonValuesMax,
          requestBytesMax,
          jsonKeysMax,
        ),
      };
      this.requests.set(list, request);
    }
    return request;
  }

  private judged(answer: ScanAnswer): BodyScan {
    if (Array.isArray(answer))
      return new NativelyJudgedBody(
        { root: answer[0], floats: answer[1] as ArrayBuffer, hasLongIntegers: answer[2] },
        this.nonce,
        this.bounds.vectorDimMax,
      );
    return answer.flaw === undefined ? new NativelyJudgedBody(answer, this.nonce, this.bounds.vectorDimMax) : answer;
  }
}

class NativelyJudgedBody implements JudgedBody {
  constructor(
    private readonly answer: AcceptedScan,
    private readonly nonce: string,
    private readonly vectorDimMax: number,
    /** Where the body's numbers begin among the floats. */
    private readonly first = 0,
  ) {}

  get root(): string {
    return this.answer.root;
  }

  get listMark(): string {
    return this.nonce;
  }

  get hasLongIntegers(): boolean {
    return this.answer.hasLongIntegers === true;
  }

  get list(): JudgedList | null {
    const { elements, parts, listLength } = this.answer;
    if (elements === undefined || parts === undefined || listLength === undefined) return null;
    const text = Buffer.from(elements);
    const bounds = new Uint32Array(parts);
    return {
      length: listLength,
      partCount: bounds.length / 2,
      part: (index) => `[${text.toString('utf8', bounds[2 * index], bounds[2 * index + 1])}]`,
    };
  }

  vector(value: unknown): unknown {
    // Arrays that the scan leaves in the text: with other values than numbers in them, repeated, or behind a key
    // written with escapes.
    if (typeof value !== 'string' || !value.startsWith(this.nonce)) return float32IfNumbers(value, this.vectorDimMax);
    const colon = value.indexOf(':');
    const start = Number(value.slice(this.nonce.length, colon));
    const end = Number(value.slice(colon + 1));
    return new Float32Array(this.answer.floats, (this.first + start) * Float32Array.BYTES_PER_ELEMENT, end - start);
  }
}
