import { encodingOf } from '../../shared/text/text-encoding';
import { ByteArena } from './byte-arena';
import { IdTable, hashOfAscii, hashOfId } from './id-table';
import { type DirectoryColumns, SLOT_BYTES, emptyColumns, grownColumns, slotCapacity } from './directory-columns';
import { directoryChunks, readDirectory } from './directory-save';

/** Flags of a slot. */
const LIVE = 1;
const ID_IS_UTF16 = 2;
const HAS_TEXT = 4;

/** What the directory knows about an item without reading its record. */
export interface DirectoryEntry {
  externalId: string;
  recno: number;
  stamp: number;
  /** JSON object text. */
  metadata: string;
  hasText: boolean;
}

/**
 * Where each item is: external id ↔ slot, and by slot the facts that every answer contains. In memory, in columns and
 * an arena outside the JavaScript heap: about 50 bytes per item beside its id and metadata. Synchronous; only the
 * shard's apply step changes it.
 */
export class Directory {
  private columns: DirectoryColumns = emptyColumns();
  private arena = new ByteArena();
  private readonly ids = new IdTable();
  private live = 0;
  private highestStamp = 0;

  get liveCount(): number {
    return this.live;
  }

  /** Highest insertion stamp ever put; 0 if none. */
  get lastStamp(): number {
    return this.highestStamp;
  }

  get memoryBytes(): number {
    return this.arena.memoryBytes + this.ids.memoryBytes + slotCapacity(this.columns) * SLOT_BYTES;
  }

  /** The slot of an external id, or -1. */
  slotOf(externalId: string): number {
    return this.ids.find(hashOfId(externalId), (slot) => this.externalIdOf(slot) === externalId);
  }

  isLive(slot: number): boolean {
    return slot < slotCapacity(this.columns) && (this.columns.flags[slot] & LIVE) !== 0;
  }

  externalIdOf(slot: number): string {
    const { columns } = this;
    const from = columns.offsets[slot];
    const encoding = columns.flags[slot] & ID_IS_UTF16 ? 'utf16le' : 'utf8';
    return this.arena.chunk(columns.chunks[slot]).toString(encoding, from, from + columns.idBytes[slot]);
  }

  metadataOf(slot: number): string {
    const { columns } = this;
    const from = columns.offsets[slot] + columns.idBytes[slot];
    return this.arena.chunk(columns.chunks[slot]).toString('utf8', from, from + columns.metadataBytes[slot]);
  }

  stampOf(slot: number): number {
    return this.columns.stamps[slot];
  }

  recnoOf(slot: number): number {
    return this.columns.recnos[slot];
  }

  hasText(slot: number): boolean {
    return (this.columns.flags[slot] & HAS_TEXT) !== 0;
  }

  /** Puts an item into an empty slot; its id must not be in another slot. */
  put(slot: number, entry: DirectoryEntry): void {
    this.set(slot, entry);
    this.ids.add(hashOfId(entry.externalId), slot);
  }

  /** Empties a live slot. */
  remove(slot: number): void {
    this.ids.remove(slot);
    this.clear(slot);
  }

  /** The live slots, ascending. */
  *liveSlots(): Iterable<number> {
    for (let slot = 0; slot < slotCapacity(this.columns); slot++) if (this.columns.flags[slot] & LIVE) yield slot;
  }

  /** One more than the highest live slot, and the empty slots below it. */
  freeSlots(): { limit: number; free: number[] } {
    let limit = slotCapacity(this.columns);
    while (limit > 0 && (this.columns.flags[limit - 1] & LIVE) === 0) limit -= 1;
    const free: number[] = [];
    for (let slot = limit - 1; slot >= 0; slot--) if ((this.columns.flags[slot] & LIVE) === 0) free.push(slot);
    return { limit, free };
  }

  /** A consistent copy of the present state as chunks of bytes, made at the call (some milliseconds per million items). */
  save(): Iterable<Buffer> {
    return directoryChunks(this.columns, this.arena.snapshot(), { highestStamp: this.highestStamp });
  }

  /**
   * The directory of a save, with the slots in `emptied` left empty. Takes about 200 ms per million items. Errors:
   * those of malformed bytes, as a plain Error.
   */
  static load(bytes: Buffer, emptied: { has(slot: number): boolean }): Directory {
    const directory = new Directory();
    const { columns, chunks, highestStamp } = readDirectory(bytes);
    const arena = ByteArena.of(chunks);
    directory.columns = columns;
    directory.arena = arena;
    directory.highestStamp = highestStamp;
    for (let slot = 0; slot < slotCapacity(columns); slot++) {
      if ((columns.flags[slot] & LIVE) === 0) continue;
      if (emptied.has(slot)) columns.flags[slot] = 0;
      else if (!arena.revive(columns.chunks[slot], columns.offsets[slot], columns.idBytes[slot] + columns.metadataBytes[slot])) {
        throw new Error('saved directory: a place outside its chunk');
      } else directory.live += 1;
    }
    arena.dropDead();
    directory.ids.reserve(directory.live, slotCapacity(columns));
    for (let slot = 0; slot < slotCapacity(columns); slot++) {
      if (columns.flags[slot] & LIVE) directory.ids.add(directory.hashOf(slot), slot);
    }
    directory.tidy();
    return directory;
  }

  /** hashOfId of the slot's id, without making a string of an ASCII id. */
  private hashOf(slot: number): number {
    const { columns } = this;
    const from = columns.offsets[slot];
    const isUtf16 = (columns.flags[slot] & ID_IS_UTF16) !== 0;
    const hash = isUtf16 ? -1 : hashOfAscii(this.arena.chunk(columns.chunks[slot]), from, from + columns.idBytes[slot]);
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
    const { columns } = this;
    columns.recnos[slot] = entry.recno;
    columns.stamps[slot] = entry.stamp;
    columns.chunks[slot] = chunk;
    columns.offsets[slot] = offset;
    columns.idBytes[slot] = idBytes;
    columns.metadataBytes[slot] = metadataBytes;
    columns.flags[slot] = LIVE | (encoding === 'utf16le' ? ID_IS_UTF16 : 0) | (entry.hasText ? HAS_TEXT : 0);
    this.live += 1;
    if (entry.stamp > this.highestStamp) this.highestStamp = entry.stamp;
    this.tidy();
  }

  private clear(slot: number): void {
    const { columns } = this;
    columns.flags[slot] = 0;
    this.live -= 1;
    this.arena.free(columns.chunks[slot], columns.idBytes[slot] + columns.metadataBytes[slot]);
    this.tidy();
  }

  private tidy(): void {
    for (let sparse = this.arena.takeSparse(); sparse >= 0; sparse = this.arena.takeSparse()) this.empty(sparse);
  }

  /** Moves what is living in a sparse chunk elsewhere, which frees the chunk. */
  private empty(chunk: number): void {
    const { columns } = this;
    const source = this.arena.chunk(chunk);
    for (let slot = 0; slot < slotCapacity(columns); slot++) {
      if (columns.chunks[slot] !== chunk || (columns.flags[slot] & LIVE) === 0) continue;
      const length = columns.idBytes[slot] + columns.metadataBytes[slot];
      const from = columns.offsets[slot];
      const place = this.arena.allocate(length);
      source.copy(place.buffer, place.offset, from, from + length);
      columns.chunks[slot] = place.chunk;
      columns.offsets[slot] = place.offset;
      this.arena.free(chunk, length);
    }
  }

  private reserve(slot: number): void {
    if (slot >= slotCapacity(this.columns)) this.columns = grownColumns(this.columns, slot + 1);
  }
}
