/** V8 refuses a Map of more than 2^24 entries; this is half of it, where the last doubling of its table has been paid. */
const ENTRIES_MAX = 2 ** 23;

/** The part of Map that a dictionary needs, without its limit on size. */
export class LargeMap<K, V> {
  private readonly parts: Map<K, V>[] = [new Map()];

  get(key: K): V | undefined {
    for (const part of this.parts) {
      const value = part.get(key);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  /** `key` must be absent. */
  insert(key: K, value: V): void {
    for (const part of this.parts) {
      if (part.size < ENTRIES_MAX) {
        part.set(key, value);
        return;
      }
    }
    this.parts.push(new Map([[key, value]]));
  }

  delete(key: K): void {
    for (const part of this.parts) if (part.delete(key)) return;
  }
}
