import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * What somebody who can write to a folder of backups, and knows no secret, can put there: every object has the checksum
 * that it should have.
 */
export class HostileTarget {
  constructor(readonly folder: string) {}

  read(key: string): Buffer {
    return readFileSync(join(this.folder, key));
  }

  /** The content of a JSON object. */
  contentOf(key: string): any {
    return JSON.parse(JSON.parse(this.read(key).toString()).content);
  }

  /** Puts a content under a name, with its checksum and no seal, or with `seal`. Answers the object's bytes. */
  put(key: string, content: unknown, seal?: string): Buffer {
    const text = JSON.stringify(content);
    const bytes = Buffer.from(
      JSON.stringify({ format: 1, sha256: sha256(text), content: text, ...(seal !== undefined && { seal }) }),
    );
    writeFileSync(join(this.folder, key), bytes);
    return bytes;
  }

  /** Changes what a backup consists of, and whatever names it by its checksum. */
  changed(
    id: string,
    change: { manifest?: (manifest: any) => unknown; shard?: (shard: any) => unknown },
    as = id,
  ): void {
    const manifest = this.contentOf(`backups/${id}.json`);
    manifest.id = as;
    if (change.shard !== undefined) {
      const named = manifest.collections[0].shards[0].manifest;
      const key = `${named.key.slice(0, named.key.lastIndexOf('/'))}-${as}.json`;
      const content = this.contentOf(named.key);
      const bytes = this.put(key, change.shard(content) ?? content);
      Object.assign(named, { key, bytes: bytes.length, sha256: sha256(bytes) });
    }
    this.put(`backups/${as}.json`, change.manifest?.(manifest) ?? manifest);
  }
}

export function sha256(bytes: Buffer | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Values that no field expects. */
const ODD: unknown[] = [
  null,
  -1,
  1e6,
  1e15,
  1.5,
  '',
  '../../etc/passwd',
  '/etc/passwd',
  'x'.repeat(5_000_000),
  [],
  [null],
  {},
  true,
  Array.from({ length: 100_000 }, () => ({})),
  { length: 1e9 },
];

/** Every place of a JSON value, as a path. */
export function placesIn(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [path];
  const entries: [string | number, unknown][] = Array.isArray(value)
    ? value.slice(0, 2).map((one, i) => [i, one])
    : Object.entries(value);
  return [...(path.length > 0 ? [path] : []), ...entries.flatMap(([name, one]) => placesIn(one, [...path, name]))];
}

/** The same value with another one at a place. `drawn`: a number in [0, 1), which says what. */
export function mutated<Value>(value: Value, path: (string | number)[], drawn: number): Value {
  const copy = structuredClone(value);
  let at: any = copy;
  for (const name of path.slice(0, -1)) at = at[name];
  at[path.at(-1)!] = ODD[Math.floor(drawn * ODD.length)];
  return copy;
}
