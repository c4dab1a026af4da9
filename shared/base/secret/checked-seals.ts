import type { EntrySeal, OpenedEntry } from './entry-seal';

/** Length of the text that is remembered, in UTF-16 code units: the entries of about 20,000 shards. */
const REMEMBERED_LENGTH = 16 * 1024 * 1024;

/**
 * Opens entries, and remembers those whose seal was good. Members list whole prefixes every few seconds and mostly find
 * the same entries, and an HMAC costs a hundred times as much as the comparison.
 */
export class CheckedSeals {
  /** By key, the stored text whose seal was good. The value is a substring of it, so it takes no memory of its own. */
  private readonly good = new Map<string, { text: string; opened: OpenedEntry }>();
  private length = 0;

  constructor(
    private readonly seal: EntrySeal,
    private readonly lengthMax = REMEMBERED_LENGTH,
  ) {}

  /** Like EntrySeal.open. */
  open(key: string, text: string): OpenedEntry {
    const known = this.good.get(key);
    if (known?.text === text) return known.opened;
    const opened = this.seal.open(key, text);
    if (opened.seal === 'sealed' || opened.seal === 'sealedByOther') this.remember(key, text, opened);
    return opened;
  }

  private remember(key: string, text: string, opened: OpenedEntry): void {
    this.forget(key);
    this.good.set(key, { text, opened });
    this.length += text.length;
    for (const oldest of this.good.keys()) {
      if (this.length <= this.lengthMax) break;
      this.forget(oldest);
    }
  }

  private forget(key: string): void {
    this.length -= this.good.get(key)?.text.length ?? 0;
    this.good.delete(key);
  }
}
