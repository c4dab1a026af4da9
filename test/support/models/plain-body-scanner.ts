import { randomBytes } from 'node:crypto';
import type { Turns } from '../../../coordinator/api/load/turns';
import {
  type BodyScan,
  type BodyScanner,
  type EncodedBody,
  float32IfNumbers,
  type JudgedBody,
  type JudgedList,
  type ScannedList,
  type ScanBounds,
} from '../../../coordinator/api/body/body-scanner';
import { ClientGone } from '../../../coordinator/api/body/client-gone';
import { PlainScan } from './plain-scan';

/** Bytes scanned in one turn: about four milliseconds. */
const BYTES_A_TURN = 256 * 1024;

/**
 * The scanner without the addon: the model that the native one is compared with. Vectors stay in the text, so their
 * numbers are rounded twice (decimal to double to float32). That differs from rounding once only for decimals of more
 * than about 17 digits that lie very near the middle between two float32 numbers.
 */
export class PlainBodyScanner implements BodyScanner {
  private readonly bounds: ScanBounds;
  private readonly turns: Turns;
  private readonly nonce = randomBytes(18).toString('hex');

  constructor(options: { bounds: ScanBounds; turns: Turns }) {
    this.bounds = options.bounds;
    this.turns = options.turns;
  }

  scan(body: Buffer, list: ScannedList | null): BodyScan {
    const scan = new PlainScan(body, list, this.bounds);
    while (!scan.advance(Infinity));
    return this.judged(body, scan);
  }

  async scanAside(body: Buffer, list: ScannedList | null, isGone: () => boolean): Promise<BodyScan> {
    const scan = new PlainScan(body, list, this.bounds);
    while (!scan.advance(BYTES_A_TURN)) {
      await this.turns.next();
      if (isGone()) throw new ClientGone();
    }
    return this.judged(body, scan);
  }

  /** It encodes no list: a scan has to tell. */
  encodeAside(): Promise<EncodedBody | null> {
    return Promise.resolve(null);
  }

  private judged(body: Buffer, scan: PlainScan): BodyScan {
    return scan.flaw ?? new PlainlyJudgedBody(body, scan, this.nonce, this.bounds.vectorDimMax);
  }
}

class PlainlyJudgedBody implements JudgedBody {
  readonly root: string;
  readonly list: JudgedList | null;
  readonly hasLongIntegers: boolean;

  constructor(
    body: Buffer,
    scan: PlainScan,
    readonly listMark: string,
    private readonly vectorDimMax: number,
  ) {
    const { lists, listLength, parts, hasLongIntegers } = scan;
    this.hasLongIntegers = hasLongIntegers;
    let root = '';
    let copied = 0;
    for (let i = 0; i < lists.length; i += 2) {
      root += `${body.toString('utf8', copied, lists[i])}"${listMark}"`;
      copied = lists[i + 1];
    }
    this.root = root + body.toString('utf8', copied);
    this.list =
      lists.length === 0
        ? null
        : {
            length: listLength,
            partCount: parts.length / 2,
            part: (i) => `[${body.toString('utf8', parts[2 * i], parts[2 * i + 1])}]`,
          };
  }

  vector(value: unknown): unknown {
    return float32IfNumbers(value, this.vectorDimMax);
  }
}
