import { type DirectoryPage, directoryPage, externalIdAt, HIDDEN, LIVE, metadataAt, pageNumberOf, placeInPage } from './directory-pages';

/** A part of a directory's memory that came or went. It is never replaced by another of its number. */
export type DirectoryPart = { type: 'page'; number: number; memory: SharedArrayBuffer } | { type: 'chunk'; number: number; memory: SharedArrayBuffer | null };

/**
 * A directory as another thread reads it, out of the parts that were published to it. What it answers holds only if the
 * directory's change counter has not moved meanwhile (ChangeWatch). It never throws for a slot that it says is live.
 */
export class DirectoryView {
  private readonly pages: (DirectoryPage | undefined)[] = [];
  private readonly chunks: (Buffer | undefined)[] = [];

  take(part: DirectoryPart): void {
    if (part.type === 'page') this.pages[part.number] = directoryPage(part.memory);
    else this.chunks[part.number] = part.memory === null ? undefined : Buffer.from(part.memory);
  }

  /** False also for an item of which some part has not arrived here. */
  isLive(slot: number): boolean {
    const page = this.pages[pageNumberOf(slot)];
    const place = placeInPage(slot);
    return page !== undefined && (page.flags[place] & (LIVE | HIDDEN)) === LIVE && this.chunks[page.chunks[place]] !== undefined;
  }

  /** "" for a slot that is not live. */
  externalIdOf(slot: number): string {
    return this.textOf(slot, externalIdAt);
  }

  /** As {@link externalIdOf}. */
  metadataOf(slot: number): string {
    return this.textOf(slot, metadataAt);
  }

  private textOf(slot: number, textAt: (page: DirectoryPage, place: number, chunk: Buffer) => string): string {
    const page = this.pages[pageNumberOf(slot)];
    const place = placeInPage(slot);
    const chunk = page === undefined ? undefined : this.chunks[page.chunks[place]];
    return page === undefined || chunk === undefined ? '' : textAt(page, place, chunk);
  }
}
