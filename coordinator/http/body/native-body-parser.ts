import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import type { BodyScannerAddon } from '../../native/body-scanner';
import type { BodyParser } from './body-parser';
import { float32IfNumbers, JsonBodyParser } from './json-body-parser';
import { replaceVectors } from './vector-places';

/**
 * The body parser over the native scan: vectors go from the body's bytes into one float buffer, JSON.parse takes the
 * small rest with a placeholder string for each vector. Placeholders start with a random nonce of this process, which
 * never leaves it, so a client can't write one.
 */
export class NativeBodyParser implements BodyParser {
  private readonly addon: BodyScannerAddon;
  private readonly vectorDimMax: number;
  private readonly plain: JsonBodyParser;
  private readonly nonce = randomBytes(18).toString('hex');

  constructor(options: { addon: BodyScannerAddon; vectorDimMax: number }) {
    this.addon = options.addon;
    this.vectorDimMax = options.vectorDimMax;
    this.plain = new JsonBodyParser(options);
  }

  parse(body: Buffer): unknown {
    const scanned = isUtf8(body) ? this.addon.scan(body, this.nonce, this.vectorDimMax) : null;
    // Whatever the scan doesn't follow is JSON.parse's to accept, or to refuse with a message about the body as sent.
    if (scanned === null) return this.plain.parse(body);
    const { rest, floats } = scanned;
    let value: unknown;
    try {
      value = JSON.parse(rest);
    } catch {
      return this.plain.parse(body);
    }
    replaceVectors(value, (member) => {
      // Arrays that the scan leaves: with something else in them than numbers, or behind a key written with escapes.
      if (typeof member !== 'string' || !member.startsWith(this.nonce)) return float32IfNumbers(member, this.vectorDimMax);
      const colon = member.indexOf(':');
      const start = Number(member.slice(this.nonce.length, colon));
      const end = Number(member.slice(colon + 1));
      return new Float32Array(floats, start * Float32Array.BYTES_PER_ELEMENT, end - start);
    });
    return value;
  }
}
