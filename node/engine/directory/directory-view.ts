import type { Hit } from '../../../shared/contract/shard/shard-read';
import { copyBytes } from '../../../shared/base/memory/slab';
import type { TextsBySlot } from '../../../shared/wire/codecs/hit-codec';
import { ChunkFile } from '../records/chunk-file';
import {
  type DirectoryPage,
  directoryPage,
  externalIdAt,
  hitAt,
  HIDDEN,
  ID_IS_UTF16,
  idSpanAt,
  LIVE,
  metadataAt,
  metadataSpanAt,
  pageNumberOf,
  positionInPage,
  type TextSpan,
} from './directory-pages';

/**
 * A part of a directory's memory that came or went, or a chunk that is in a file from now on. It is never replaced by
 * another of its number.
 */
export type DirectoryPart =
  | { type: 'page'; number: number; memory: SharedArrayBuffer }
  | { type: 'chunk'; number: number; memory: SharedArrayBuffer | null }
  | { type: 'stored'; number: number; path: string; position: number };

/** A file of which this thread knows chunks. */
interface KnownFile {
  reader: ChunkFile;
  chunks: number;
}

interface StoredChunk {
  file: KnownFile;
  position: number;
}

/**
 * A directory as another thread reads it, out of the parts that were published to it. What it answers holds only if the
 * directory's change counter has not moved meanwhile (ChangeWatch). It never throws for a slot that it says is live.
 */
export class DirectoryView implements TextsBySlot {
  private readonly pages: (DirectoryPage | undefined)[] = [];
  private readonly chunks: (Buffer | undefined)[] = [];
  private readonly stored: (StoredChunk | undefined)[] = [];
  private readonly files = new Map<string, KnownFile>();
  private failed = false;

  take(part: DirectoryPart): void {
    if (part.type === 'page') {
      this.pages[part.number] = directoryPage(part.memory);
      return;
    }
    this.forget(part.number);
    if (part.type === 'stored') this.stored[part.number] = { file: this.fileOf(part.path), position: part.position };
    else if (part.memory !== null) this.chunks[part.number] = Buffer.from(part.memory);
  }

  /** Nothing is asked of it any more; idempotent. */
  close(): void {
    for (const { reader } of this.files.values()) reader.close();
    this.files.clear();
    this.chunks.length = 0;
    this.stored.length = 0;
  }

  /** Whether something could not be read from its file since this was last asked. Then "" stands for it. */
  takeFailure(): boolean {
    const { failed } = this;
    this.failed = false;
    return failed;
  }

  /** False also for an item of which some part has not arrived here. */
  isLive(slot: number): boolean {
    const page = this.pages[pageNumberOf(slot)];
    const position = positionInPage(slot);
    return (
      page !== undefined &&
      (page.flags[position] & (LIVE | HIDDEN)) === LIVE &&
      (this.chunks[page.chunks[position]] ?? this.stored[page.chunks[position]]) !== undefined
    );
  }

  hitOf(slot: number, score: number): Hit | null {
    const page = this.pages[pageNumberOf(slot)];
    if (page === undefined) return null;
    const position = positionInPage(slot);
    if ((page.flags[position] & (LIVE | HIDDEN)) !== LIVE) return null;
    const chunk = this.chunks[page.chunks[position]];
    if (chunk !== undefined) return hitAt(page, position, chunk, score);
    return this.isLive(slot) ? { externalId: this.externalIdOf(slot), score, metadata: this.metadataOf(slot) } : null;
  }

  /** As TextsBySlot. */
  textBytesOf(slot: number): number {
    const page = this.pages[pageNumberOf(slot)];
    if (page === undefined) return -1;
    const position = positionInPage(slot);
    if (
      (page.flags[position] & (LIVE | HIDDEN | ID_IS_UTF16)) !== LIVE ||
      this.chunks[page.chunks[position]] === undefined
    )
      return -1;
    return page.idBytes[position] + page.metadataBytes[position];
  }

  /** As TextsBySlot. */
  idBytesOf(slot: number): number {
    return this.pages[pageNumberOf(slot)]?.idBytes[positionInPage(slot)] ?? 0;
  }

  /** As TextsBySlot. */
  copyText(slot: number, target: Buffer, at: number): void {
    const page = this.pages[pageNumberOf(slot)];
    if (page === undefined) return;
    const position = positionInPage(slot);
    const from = page.offsets[position];
    const chunk = this.chunks[page.chunks[position]];
    // What changes at this moment may name a place that is none; copying from there throws.
    if (chunk === undefined || from > chunk.length) return;
    copyBytes(chunk, from, target, at, page.idBytes[position] + page.metadataBytes[position]);
  }

  /** "" for a slot that is not live. */
  externalIdOf(slot: number): string {
    return this.textOf(slot, externalIdAt, idSpanAt);
  }

  /** As {@link externalIdOf}. */
  metadataOf(slot: number): string {
    return this.textOf(slot, metadataAt, metadataSpanAt);
  }

  private textOf(
    slot: number,
    textAt: (page: DirectoryPage, position: number, chunk: Buffer) => string,
    spanAt: (page: DirectoryPage, position: number) => TextSpan,
  ): string {
    const page = this.pages[pageNumberOf(slot)];
    const position = positionInPage(slot);
    if (page === undefined) return '';
    const number = page.chunks[position];
    const chunk = this.chunks[number];
    if (chunk !== undefined) return textAt(page, position, chunk);
    const stored = this.stored[number];
    if (stored === undefined) return '';
    const { encoding, from, bytes } = spanAt(page, position);
    try {
      return stored.file.reader.text(encoding, stored.position + from, bytes);
    } catch {
      // The file is gone with its last item, or damaged, which the shard's own thread finds out.
      this.failed = true;
      return '';
    }
  }

  private fileOf(path: string): KnownFile {
    const file = this.files.get(path) ?? { reader: new ChunkFile(path), chunks: 0 };
    this.files.set(path, file);
    file.chunks += 1;
    return file;
  }

  private forget(number: number): void {
    const stored = this.stored[number];
    this.chunks[number] = undefined;
    this.stored[number] = undefined;
    if (stored === undefined) return;
    const { file } = stored;
    file.chunks -= 1;
    if (file.chunks > 0) return;
    file.reader.close();
    this.files.delete(file.reader.path);
  }
}
