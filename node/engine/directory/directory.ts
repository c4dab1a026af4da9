import type { Expiry } from '../../../shared/contract/writes/expiry';
import { STAMP_EPOCH_MS, STAMPS_PER_MS, timeOfStamp } from '../../../shared/contract/writes/stamp-time';
import { sampleKey, sampleKeyOfAscii } from '../../../shared/contract/shard/sample-key';
import { encodingOf } from '../../../shared/base/text/text-encoding';
import { ByteArena } from '../records/byte-arena';
import type { ChunkStore } from '../records/chunk-store';
import { IdTable, hashOfAscii, hashOfId } from './id-table';
import { ChangeCounter } from '../records/change-counter';
import {
  DATED,
  type DirectoryPage,
  directoryPage,
  externalIdAt,
  hasExternalIdAt,
  HAS_TEXT,
  HIDDEN,
  ID_IS_UTF16,
  idSpanAt,
  LIVE,
  metadataAt,
  metadataSpanAt,
  PAGE_SLOTS,
  pageNumberOf,
  positionInPage,
  SLOT_BYTES,
  type TextSpan,
} from './directory-pages';
import { directoryChunks, readDirectory, type SavedBytes } from './directory-save';
import type { DirectoryPart } from './directory-view';
import { ExpiryColumn } from './expiry-column';
import { IdOrder } from './id-order';

/** What the directory knows about an item without reading its record. */
export interface DirectoryEntry {
  externalId: string;
  recno: number;
  stamp: number;
  /** 0 for an item that was stored before versions were counted. */
  version: number;
  /** Left out, or 0: never. */
  expiry?: Expiry | undefined;
  /** Whether the version tells when it changed. */
  dated?: boolean | undefined;
  /** JSON object text. */
  metadata: string;
  hasText: boolean;
}

const NONE: ReadonlySet<number> = new Set();
/** Of which the versions are looked at in one step: a fraction of a millisecond. */
const PAGES_PER_STEP = 64;

/**
 * Where each item is: external id ↔ slot, and by slot the facts that every answer contains. In memory, in columns and
 * an arena outside the JavaScript heap: about 60 bytes per item beside its id and metadata. Synchronous; only the
 * shard's apply step changes it.
 *
 * Columns and arena are in shared memory, where other threads read them (DirectoryView): they are given the `parts`,
 * and `changes` tells them what they must not answer.
 *
 * An item that has expired is hidden until its record is removed: it is in its slot, for those who write, and not live,
 * for those who read.
 *
 * With a store (ChunkStore), ids and metadata are on the disk, and memory has the columns and where they are.
 */
export class Directory {
  /** Whoever changes more than the directory in one step begins before the first and ends after the last of it. */
  readonly changes = new ChangeCounter();
  /** Called with each part that comes or goes, before anything is written to it. */
  onPart: (part: DirectoryPart) => void = () => {};
  private pages: DirectoryPage[] = [];
  private readonly arena: ByteArena;
  private readonly ids = new IdTable();
  private expiries = new ExpiryColumn();
  private live = 0;
  private hidden = 0;
  private highestStamp = 0;
  private idOrder: IdOrder | null = null;

  /** `store`: where ids and metadata are kept; null: in memory. The directory closes it. */
  constructor(private readonly store: ChunkStore | null = null) {
    this.arena = new ByteArena(store);
    this.arena.onChunk = (number) => this.onPart(this.chunkPart(number));
  }

  /** Without hidden ones. */
  get liveCount(): number {
    return this.live;
  }

  get hiddenCount(): number {
    return this.hidden;
  }

  /** Highest insertion stamp ever put; 0 if none. */
  get lastStamp(): number {
    return this.highestStamp;
  }

  get memoryBytes(): number {
    const columns = this.slotCapacity * SLOT_BYTES + this.expiries.memoryBytes + (this.idOrder?.memoryBytes ?? 0);
    return this.arena.memoryBytes + this.ids.memoryBytes + columns;
  }

  get diskBytes(): number {
    return this.store?.diskBytes ?? 0;
  }

  /** The slot of an external id, or -1: also for a hidden item. */
  slotOf(externalId: string): number {
    const slot = this.storedSlotOf(externalId);
    return slot >= 0 && this.isLive(slot) ? slot : -1;
  }

  /** The slot of an external id, or -1; also that of a hidden item. */
  storedSlotOf(externalId: string): number {
    return this.ids.find(hashOfId(externalId), (slot) => this.hasExternalId(slot, externalId));
  }

  /** The slots of the live items that have one of some thousand ids at most; perhaps twice, and in any order. */
  slotsOf(externalIds: readonly string[]): Uint32Array {
    const count = externalIds.length;
    const slots = this.ids.firstOf(Uint32Array.from(externalIds, hashOfId));
    // By slots, because those of one page are near to each other: each with the place of its id.
    const keys = new Float64Array(count);
    let known = 0;
    for (let i = 0; i < count; i++) if (slots[i] >= 0) keys[known++] = slots[i] * count + i;
    const found = new Uint32Array(known);
    let size = 0;
    for (const key of keys.subarray(0, known).sort()) {
      const slot = Math.floor(key / count);
      const externalId = externalIds[key - slot * count];
      const own = this.hasExternalId(slot, externalId) ? slot : this.storedSlotOf(externalId);
      if (own >= 0 && this.isLive(own)) found[size++] = own;
    }
    return found.subarray(0, size);
  }

  isLive(slot: number): boolean {
    const page = this.pages[pageNumberOf(slot)];
    return page !== undefined && (page.flags[positionInPage(slot)] & (LIVE | HIDDEN)) === LIVE;
  }

  isHidden(slot: number): boolean {
    return this.hidden > 0 && (this.pageOf(slot).flags[positionInPage(slot)] & HIDDEN) !== 0;
  }

  expiryOf(slot: number): Expiry {
    return this.expiries.of(slot);
  }

  /** How many items expire, hidden ones among them. */
  get expiringCount(): number {
    return this.expiries.count;
  }

  /** The slots of items that expire, ascending. */
  expiringSlots(): Iterable<number> {
    return this.expiries.slots();
  }

  /** The slots of live items that expire from `low` to `high`, in milliseconds since 1970; ascending. */
  slotsExpiring(low: number, high: number): number[] {
    return this.expiries.within(low, high).filter((slot) => this.isLive(slot));
  }

  /** Whether the version of the item tells when it changed. */
  isDated(slot: number): boolean {
    return (this.pageOf(slot).flags[positionInPage(slot)] & DATED) !== 0;
  }

  /** The slots of live items that were changed from `low` to `high`, as far as that is known, as bits. */
  *slotsUpdated(low: number, high: number): Generator<undefined, Uint32Array> {
    const found = new Uint32Array(this.slotCapacity / 32);
    const first = (low - STAMP_EPOCH_MS) * STAMPS_PER_MS;
    const end = (high + 1 - STAMP_EPOCH_MS) * STAMPS_PER_MS;
    for (const [number, { versions, flags }] of this.pages.entries()) {
      for (let from = 0; from < PAGE_SLOTS; from += 32) {
        let bits = 0;
        for (let position = from; position < from + 32; position++) {
          const version = versions[position];
          if (version < first || version >= end) continue;
          if ((flags[position] & (LIVE | HIDDEN | DATED)) === (LIVE | DATED)) bits |= 1 << (position & 31);
        }
        found[(number * PAGE_SLOTS + from) >>> 5] = bits;
      }
      if (number % PAGES_PER_STEP === 0) yield;
    }
    return found;
  }

  /** What filters ask of the item in a slot besides its metadata. */
  factsOf(slot: number): { externalId: string; expiry: Expiry; updatedMs: number | undefined } {
    const updatedMs = this.isDated(slot) ? timeOfStamp(this.versionOf(slot)) : undefined;
    return { externalId: this.externalIdOf(slot), expiry: this.expiryOf(slot), updatedMs };
  }

  /** The slots by their ids, from when that is first asked for. */
  get byId(): IdOrder {
    return (this.idOrder ??= new IdOrder(this));
  }

  /** Takes a live item from the readers. Its slot stays taken. */
  hide(slot: number): void {
    this.changes.begin();
    this.pageOf(slot).flags[positionInPage(slot)] |= HIDDEN;
    this.live -= 1;
    this.hidden += 1;
    this.changes.liveCount = this.live;
    this.changes.end();
  }

  externalIdOf(slot: number): string {
    const page = this.pageOf(slot);
    const position = positionInPage(slot);
    const chunk = this.arena.chunk(page.chunks[position]);
    return chunk === null
      ? this.storedText(page.chunks[position], idSpanAt(page, position))
      : externalIdAt(page, position, chunk);
  }

  metadataOf(slot: number): string {
    const page = this.pageOf(slot);
    const position = positionInPage(slot);
    const chunk = this.arena.chunk(page.chunks[position]);
    return chunk === null
      ? this.storedText(page.chunks[position], metadataSpanAt(page, position))
      : metadataAt(page, position, chunk);
  }

  stampOf(slot: number): number {
    return this.pageOf(slot).stamps[positionInPage(slot)];
  }

  /** The item's version; its stamp stands for it where versions were not counted when it was stored. */
  versionOf(slot: number): number {
    const page = this.pageOf(slot);
    const position = positionInPage(slot);
    return page.versions[position] || page.stamps[position];
  }

  /**
   * The highest version of the items, hidden ones among them, 0 if there are none; those in the slots of `except` do
   * not count. Looks at every slot.
   */
  highestVersion(except: { has(slot: number): boolean } = NONE): number {
    let highest = 0;
    for (const slot of this.takenSlots()) if (!except.has(slot)) highest = Math.max(highest, this.versionOf(slot));
    return highest;
  }

  recnoOf(slot: number): number {
    return this.pageOf(slot).recnos[positionInPage(slot)];
  }

  hasText(slot: number): boolean {
    return (this.pageOf(slot).flags[positionInPage(slot)] & HAS_TEXT) !== 0;
  }

  /** The key of the item by which a sample is drawn. */
  sampleKeyOf(slot: number, seed: number): number {
    const page = this.pageOf(slot);
    const position = positionInPage(slot);
    const isUtf16 = (page.flags[position] & ID_IS_UTF16) !== 0;
    const from = this.idStart(page, position);
    const key = isUtf16
      ? -1
      : sampleKeyOfAscii(seed, this.idChunk(page, position), from, from + page.idBytes[position]);
    return key >= 0 ? key : sampleKey(seed, this.externalIdOf(slot));
  }

  /** Puts an item into an empty slot; its id must not be in another slot. */
  put(slot: number, entry: DirectoryEntry): void {
    this.set(slot, entry);
    this.ids.add(hashOfId(entry.externalId), slot);
    this.idOrder?.touch(slot);
  }

  /** Empties a slot. */
  remove(slot: number): void {
    this.changes.begin();
    this.idOrder?.touch(slot);
    this.ids.remove(slot);
    this.clear(slot);
    this.changes.end();
  }

  /** The live slots, ascending. */
  *liveSlots(): Iterable<number> {
    for (const [number, page] of this.pages.entries()) {
      for (let position = 0; position < PAGE_SLOTS; position++)
        if ((page.flags[position] & (LIVE | HIDDEN)) === LIVE) yield number * PAGE_SLOTS + position;
    }
  }

  /** One more than the highest slot that is taken, and the empty slots below it. */
  freeSlots(): { limit: number; free: number[] } {
    const limit = this.slotLimit;
    const free: number[] = [];
    for (let slot = limit - 1; slot >= 0; slot--) if (!this.isTaken(slot)) free.push(slot);
    return { limit, free };
  }

  /** The parts there are now. */
  parts(): DirectoryPart[] {
    const pages = this.pages.map(({ memory }, number): DirectoryPart => ({ type: 'page', number, memory }));
    const chunks = Array.from({ length: this.arena.chunkCount }, (_, number) => this.chunkPart(number));
    return [...pages, ...chunks.filter((part) => part.type === 'stored' || part.memory !== null)];
  }

  /**
   * A consistent copy of the present state as chunks of bytes, made at the call (some milliseconds per million items).
   */
  save(): Iterable<Buffer> {
    const slots = this.slotLimit;
    return directoryChunks(this.pages, slots, this.arena.snapshot(), {
      highestStamp: this.highestStamp,
      expiries: this.expiries.copy(slots),
    });
  }

  /**
   * The directory of a save, with the slots in `emptied` left empty. Nothing of it is hidden. Takes about 200 ms per
   * million items. Errors: those of malformed bytes, as a plain Error; those of the store, which stays the caller's
   * then.
   */
  static async load(
    bytes: SavedBytes,
    emptied: { has(slot: number): boolean },
    store: ChunkStore | null = null,
  ): Promise<Directory> {
    const directory = new Directory(store);
    const { arena } = directory;
    const { pages, highestStamp, expiries } = await readDirectory(bytes, (chunk) => arena.addSaved(chunk));
    directory.pages = pages;
    directory.highestStamp = highestStamp;
    if (expiries !== null) directory.expiries = ExpiryColumn.of(expiries);
    for (const [number, page] of directory.pages.entries()) {
      for (let position = 0; position < PAGE_SLOTS; position++) {
        const slot = number * PAGE_SLOTS + position;
        if ((page.flags[position] & LIVE) === 0 || emptied.has(slot)) {
          page.flags[position] = 0;
          directory.expiries.set(slot, 0);
          continue;
        }
        page.flags[position] &= ~HIDDEN;
        if (
          !arena.revive(
            page.chunks[position],
            page.offsets[position],
            page.idBytes[position] + page.metadataBytes[position],
          )
        ) {
          throw new Error('saved directory: a place outside its chunk');
        } else directory.live += 1;
      }
    }
    directory.changes.liveCount = directory.live;
    arena.dropDead();
    directory.ids.reserve(directory.live, directory.slotCapacity);
    for (let slot = 0; slot < directory.slotCapacity; slot++)
      if (directory.isLive(slot)) directory.ids.add(directory.hashOf(slot), slot);
    directory.tidy();
    return directory;
  }

  /** Removes what it has on the disk; idempotent. Ids and metadata can't be read from then on. */
  close(): void {
    this.idOrder?.forget();
    this.store?.close();
  }

  private isTaken(slot: number): boolean {
    const page = this.pages[pageNumberOf(slot)];
    return page !== undefined && (page.flags[positionInPage(slot)] & LIVE) !== 0;
  }

  private *takenSlots(): Iterable<number> {
    for (let slot = 0; slot < this.slotCapacity; slot++) if (this.isTaken(slot)) yield slot;
  }

  /** One more than the highest slot that is taken. */
  private get slotLimit(): number {
    let limit = this.slotCapacity;
    while (limit > 0 && !this.isTaken(limit - 1)) limit -= 1;
    return limit;
  }

  private get slotCapacity(): number {
    return this.pages.length * PAGE_SLOTS;
  }

  private pageOf(slot: number): DirectoryPage {
    return this.pages[pageNumberOf(slot)];
  }

  private chunkPart(number: number): DirectoryPart {
    const where = this.arena.whereIs(number);
    if (where !== null && 'file' in where)
      return { type: 'stored', number, path: where.file.reader.path, position: where.position };
    return { type: 'chunk', number, memory: where };
  }

  private hasExternalId(slot: number, externalId: string): boolean {
    const page = this.pageOf(slot);
    const position = positionInPage(slot);
    const chunk = this.arena.chunk(page.chunks[position]);
    return chunk === null ? this.externalIdOf(slot) === externalId : hasExternalIdAt(page, position, chunk, externalId);
  }

  private storedText(chunk: number, { encoding, from, bytes }: TextSpan): string {
    return this.arena.storedText(encoding, chunk, from, bytes);
  }

  /** Bytes that have an item's id at {@link idStart}: its chunk, or what is read of it. */
  private idChunk(page: DirectoryPage, position: number): Buffer {
    return (
      this.arena.chunk(page.chunks[position]) ??
      this.arena.bytes(page.chunks[position], page.offsets[position], page.idBytes[position])
    );
  }

  private idStart(page: DirectoryPage, position: number): number {
    return this.arena.chunk(page.chunks[position]) === null ? 0 : page.offsets[position];
  }

  /** hashOfId of the slot's id, without making a string of an ASCII id. */
  private hashOf(slot: number): number {
    const page = this.pageOf(slot);
    const position = positionInPage(slot);
    const isUtf16 = (page.flags[position] & ID_IS_UTF16) !== 0;
    const from = this.idStart(page, position);
    const hash = isUtf16 ? -1 : hashOfAscii(this.idChunk(page, position), from, from + page.idBytes[position]);
    return hash >= 0 ? hash : hashOfId(this.externalIdOf(slot));
  }

  private set(slot: number, entry: DirectoryEntry): void {
    const { externalId, metadata } = entry;
    const encoding = encodingOf(externalId);
    const idBytes = Buffer.byteLength(externalId, encoding);
    const metadataBytes = Buffer.byteLength(metadata);
    this.reserve(slot);
    const { chunk, offset, buffer } = this.arena.allocate(idBytes + metadataBytes);
    buffer.write(externalId, offset, encoding);
    buffer.write(metadata, offset + idBytes);
    const page = this.pageOf(slot);
    const position = positionInPage(slot);
    page.recnos[position] = entry.recno;
    page.stamps[position] = entry.stamp;
    page.versions[position] = entry.version;
    page.chunks[position] = chunk;
    page.offsets[position] = offset;
    page.idBytes[position] = idBytes;
    page.metadataBytes[position] = metadataBytes;
    page.flags[position] =
      LIVE |
      (encoding === 'utf16le' ? ID_IS_UTF16 : 0) |
      (entry.hasText ? HAS_TEXT : 0) |
      (entry.dated === true ? DATED : 0);
    this.expiries.set(slot, entry.expiry ?? 0);
    this.live += 1;
    this.changes.liveCount = this.live;
    if (entry.stamp > this.highestStamp) this.highestStamp = entry.stamp;
    this.tidy();
  }

  private clear(slot: number): void {
    const page = this.pageOf(slot);
    const position = positionInPage(slot);
    if (this.isHidden(slot)) this.hidden -= 1;
    else this.live -= 1;
    page.flags[position] = 0;
    this.expiries.set(slot, 0);
    this.changes.liveCount = this.live;
    this.arena.free(page.chunks[position], page.idBytes[position] + page.metadataBytes[position]);
    this.tidy();
  }

  /**
   * Puts what is there into new memory, so that nothing of what is gone is left in what is saved later. Some slots per
   * step.
   */
  *rewriteInSteps(): Generator<undefined, void> {
    const chunks = this.arena.retire();
    for (const page of this.pages) {
      this.changes.begin();
      for (let position = 0; position < PAGE_SLOTS; position++) {
        const chunk = page.chunks[position];
        if ((page.flags[position] & LIVE) !== 0 && chunk < chunks) this.move(page, position, chunk);
      }
      this.changes.end();
      yield;
    }
    this.tidy();
  }

  private move(page: DirectoryPage, position: number, chunk: number): void {
    const length = page.idBytes[position] + page.metadataBytes[position];
    const from = page.offsets[position];
    const target = this.arena.allocate(length);
    this.arena.bytes(chunk, from, length).copy(target.buffer, target.offset);
    page.chunks[position] = target.chunk;
    page.offsets[position] = target.offset;
    this.arena.free(chunk, length);
  }

  private tidy(): void {
    for (let sparse = this.arena.takeSparse(); sparse >= 0; sparse = this.arena.takeSparse()) this.empty(sparse);
  }

  /** Moves what is living in a sparse chunk elsewhere, which frees the chunk. */
  private empty(chunk: number): void {
    this.changes.begin();
    for (const page of this.pages) {
      for (let position = 0; position < PAGE_SLOTS; position++) {
        if (page.chunks[position] !== chunk || (page.flags[position] & LIVE) === 0) continue;
        this.move(page, position, chunk);
      }
    }
    this.changes.end();
  }

  private reserve(slot: number): void {
    for (let number = this.pages.length; number <= pageNumberOf(slot); number++) {
      const page = directoryPage();
      this.pages.push(page);
      this.onPart({ type: 'page', number, memory: page.memory });
    }
  }
}
