import {
  closeSync,
  copyFileSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { below, pick } from '../fuzz-target';

/**
 * What happens to one file while its process is down. Places are shares of its length, so that a case fits files of any
 * length.
 */
export type Damage =
  | { kind: 'flip'; at: number; bit: number }
  | { kind: 'overwrite'; at: number; bytes: string }
  | { kind: 'cut'; at: number }
  | { kind: 'append'; bytes: string }
  | { kind: 'remove' }
  | { kind: 'empty' }
  | { kind: 'replace'; by: number };

export function anyDamage(random: () => number): Damage {
  const bytes = (): string =>
    Buffer.from(
      Array.from({ length: 1 + below(random, 64) }, () => (random() < 0.3 ? 0xff : below(random, 256))),
    ).toString('base64');
  return pick<() => Damage>(random, [
    () => ({ kind: 'flip', at: random(), bit: below(random, 8) }),
    () => ({ kind: 'flip', at: random() ** 4, bit: below(random, 8) }),
    () => ({ kind: 'overwrite', at: random(), bytes: bytes() }),
    () => ({ kind: 'overwrite', at: 0, bytes: bytes() }),
    () => ({ kind: 'cut', at: random() }),
    () => ({ kind: 'append', bytes: bytes() }),
    () => ({ kind: 'remove' }),
    () => ({ kind: 'empty' }),
    () => ({ kind: 'replace', by: random() }),
  ])();
}

/** Every file under the folder, by path relative to it, in order. */
export function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

/** Damages one file of the folder; `replace` gives it the content of another of its files. */
export function damage(folder: string, file: string, what: Damage): void {
  const path = join(folder, file);
  const size = statSync(path).size;
  const place = (share: number): number => Math.floor(share * size);
  switch (what.kind) {
    case 'flip': {
      if (size === 0) return;
      const bytes = readFileSync(path);
      bytes[place(what.at)] ^= 1 << what.bit;
      writeFileSync(path, bytes);
      return;
    }
    case 'overwrite': {
      const opened = openSync(path, 'r+');
      writeSync(opened, Buffer.from(what.bytes, 'base64'), 0, undefined, place(what.at));
      closeSync(opened);
      return;
    }
    case 'cut':
      return truncateSync(path, place(what.at));
    case 'append':
      return writeFileSync(path, Buffer.from(what.bytes, 'base64'), { flag: 'a' });
    case 'remove':
      return rmSync(path);
    case 'empty':
      return truncateSync(path, 0);
    case 'replace': {
      const files = filesUnder(folder);
      return copyFileSync(join(folder, files[Math.floor(what.by * files.length)]), path);
    }
  }
}
