import { createHash } from 'node:crypto';
import { resultOf } from '../../../shared/base/time/work-slices';

/** Two of a million names have the same one once in six hundred million times. */
const DIGEST_BYTES = 6;

/** Names by their digests, so that a cursor can hold many. */
export class KeyDigests {
  static readonly NONE = new KeyDigests(new Set());

  private constructor(private readonly digests: Set<string>) {}

  /** null: the text is none that {@link toText} made. */
  static fromText(text: string): KeyDigests | null {
    const bytes = Buffer.from(text, 'base64url');
    if (bytes.length % DIGEST_BYTES !== 0) return null;
    const digests = new Set<string>();
    for (let at = 0; at < bytes.length; at += DIGEST_BYTES)
      digests.add(bytes.toString('latin1', at, at + DIGEST_BYTES));
    return new KeyDigests(digests);
  }

  get size(): number {
    return this.digests.size;
  }

  has(name: string): boolean {
    return this.digests.size > 0 && this.digests.has(digestOf(name));
  }

  /** With these names besides. */
  with(names: Iterable<string>): KeyDigests {
    return resultOf(this.withInSteps(names));
  }

  /** The same of many. */
  *withInSteps(names: Iterable<string>): Generator<undefined, KeyDigests> {
    const digests = new Set(this.digests);
    for (const name of names) {
      digests.add(digestOf(name));
      yield;
    }
    return new KeyDigests(digests);
  }

  toText(): string {
    return Buffer.from([...this.digests].join(''), 'latin1').toString('base64url');
  }
}

function digestOf(name: string): string {
  // Lone surrogates would be one name as UTF-8.
  return createHash('sha256').update(name, 'utf16le').digest().toString('latin1', 0, DIGEST_BYTES);
}
