import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import type { AcceptedScan, BodyScannerAddon, ScanAnswer } from '../../native/body-scanner';
import { type BodyScan, type BodyScanner, float32IfNumbers, type JudgedBody, type JudgedList, type ListPlace, type ScanBounds } from './body-scanner';
import { ClientGone } from './client-gone';

/**
 * Scans that may run on libuv's threads at the same time: at most half of the processors, because searches run on those
 * threads, too, and long scans must leave them room.
 */
const SCANS_ASIDE_MAX = Math.max(1, Math.floor(availableParallelism() / 2));

/**
 * The scanner over the addon. Vectors go directly from the bytes of the body into one float buffer; JSON.parse takes
 * the small rest, with a placeholder string for each vector. Placeholders start with a random nonce of this process,
 * which is never sent to anybody, so a client can't write one.
 */
export class NativeBodyScanner implements BodyScanner {
  private readonly addon: BodyScannerAddon;
  private readonly bounds: ScanBounds;
  private readonly nonce = randomBytes(18).toString('hex');
  private readonly questions = new Map<ListPlace | null, { list: string; bounds: Float64Array }>();
  private scansAside = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(options: { addon: BodyScannerAddon; bounds: ScanBounds }) {
    this.addon = options.addon;
    this.bounds = options.bounds;
  }

  scan(body: Buffer, list: ListPlace | null): BodyScan {
    const question = this.questionFor(list);
    return this.judged(this.addon.scan(body, this.nonce, question.list, question.bounds));
  }

  async scanAside(body: Buffer, list: ListPlace | null, isGone: () => boolean): Promise<BodyScan> {
    const question = this.questionFor(list);
    if (this.scansAside === SCANS_ASIDE_MAX) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.scansAside++;
    try {
      if (isGone()) throw new ClientGone();
      return this.judged(await this.addon.scanAside(body, this.nonce, question.list, question.bounds));
    } finally {
      // The slot goes to the next in line, or becomes free.
      const next = this.waiting.shift();
      if (next === undefined) this.scansAside--;
      else next();
    }
  }

  private questionFor(list: ListPlace | null): { list: string; bounds: Float64Array } {
    let question = this.questions.get(list);
    if (question === undefined) {
      const { vectorDimMax, jsonDepthMax, jsonValuesMax, requestBytesMax, jsonKeysMax } = this.bounds;
      question = {
        list: list === null ? '' : JSON.stringify(list.name),
        bounds: Float64Array.of(vectorDimMax, list?.lengthMax ?? 1, jsonDepthMax, jsonValuesMax, requestBytesMax, jsonKeysMax),
      };
      this.questions.set(list, question);
    }
    return question;
  }

  private judged(answer: ScanAnswer): BodyScan {
    if (Array.isArray(answer)) return new NativelyJudgedBody({ root: answer[0], floats: answer[1] }, this.nonce, this.bounds.vectorDimMax);
    return answer.flaw === undefined ? new NativelyJudgedBody(answer, this.nonce, this.bounds.vectorDimMax) : answer;
  }
}

class NativelyJudgedBody implements JudgedBody {
  constructor(
    private readonly answer: AcceptedScan,
    private readonly nonce: string,
    private readonly vectorDimMax: number,
  ) {}

  get root(): string {
    return this.answer.root;
  }

  get listMark(): string {
    return this.nonce;
  }

  get list(): JudgedList | null {
    const { elements, parts, listLength } = this.answer;
    if (elements === undefined || parts === undefined || listLength === undefined) return null;
    const text = Buffer.from(elements);
    const bounds = new Uint32Array(parts);
    return { length: listLength, partCount: bounds.length / 2, part: (index) => `[${text.toString('utf8', bounds[2 * index], bounds[2 * index + 1])}]` };
  }

  vector(value: unknown): unknown {
    // Arrays that the scan leaves in the text: with other values than numbers in them, repeated, or behind a key
    // written with escapes.
    if (typeof value !== 'string' || !value.startsWith(this.nonce)) return float32IfNumbers(value, this.vectorDimMax);
    const colon = value.indexOf(':');
    const start = Number(value.slice(this.nonce.length, colon));
    const end = Number(value.slice(colon + 1));
    return new Float32Array(this.answer.floats, start * Float32Array.BYTES_PER_ELEMENT, end - start);
  }
}
