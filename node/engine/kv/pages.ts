import type { KeyValueEntry } from './key-value-store';

/** Entries of a page if the caller does not specify it. */
export const PAGE_ENTRIES = 1000;

/** A page also ends at this many bytes, so that a scan of large values takes little memory. */
export const PAGE_BYTES = 4 * 1024 * 1024;

/** Cuts entries into pages by the rules of KeyRange.pageSize. */
export function* cutIntoPages(entries: Iterable<KeyValueEntry>, pageSize = PAGE_ENTRIES): Iterable<KeyValueEntry[]> {
  let page: KeyValueEntry[] = [];
  let bytes = 0;
  for (const entry of entries) {
    page.push(entry);
    bytes += entry.key.length + entry.value.length;
    if (page.length >= pageSize || bytes >= PAGE_BYTES) {
      yield page;
      page = [];
      bytes = 0;
    }
  }
  if (page.length > 0) yield page;
}
