import { isUtf8 } from 'node:buffer';
import { LONG_INTEGER_DIGITS } from '../../../coordinator/api/body/long-integers';
import {
  type BodyFlaw,
  FLAW,
  type ScannedList,
  PART_BYTES,
  PART_VALUES,
  type ScanBounds,
} from '../../../coordinator/api/body/body-scanner';

/** The depth of the stack in the list's elements: the root and the list. */
const ELEMENT_DEPTH = 2;

const enum State {
  value,
  firstElement,
  firstKey,
  key,
  after,
  done,
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const WORDS = ['true', 'false', 'null'].map((word) => Buffer.from(word));
const ESCAPED = new Set(Buffer.from('"\\/bfnrt'));
const VECTOR_KEY = Buffer.from('"vector"');

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;
const isHex = (byte: number): boolean =>
  isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/**
 * One plain scan of a body, in as many steps as the caller likes. It is the same state machine as in body_scanner.cc,
 * which documents what is checked and why, except that it extracts no vectors. The two must refuse the same bodies at
 * the same byte.
 */
export class PlainScan {
  flaw: BodyFlaw | null = null;
  /** Start and end of every list in the body; the last one counts. */
  readonly lists: number[] = [];
  listLength = 0;
  /** Start and end in the body of each run of elements in the last list. */
  parts: number[] = [];
  /** As of a ScannedBody. */
  hasLongIntegers = false;

  private readonly body: Buffer;
  private readonly bounds: ScanBounds;
  private readonly list: ScannedList | null;
  private readonly listKey: Buffer | null;
  private readonly end: number;
  private at = 0;
  private state: State = State.value;
  private readonly stack: number[] = [];
  private keyStart = 0;
  private keyEnd = 0;
  private values = 0;
  private rootValues = 0;
  private keys = 0;
  private rootKeys = 0;
  private inList = false;
  private element = 0;
  private listBytes = 0;
  private part = 0;
  private partEnd = 0;
  private partBytes = 0;
  private partValues = 0;
  private isVectorMet = false;
  private isRootVectorMet = false;
  private vectorDepth = 0;
  private vectorNumbers = 0;

  constructor(body: Buffer, list: ScannedList | null, bounds: ScanBounds) {
    this.body = body;
    this.list = list;
    this.bounds = bounds;
    this.listKey = list === null ? null : Buffer.from(JSON.stringify(list.name));
    this.end = body.length;
    if (!isUtf8(body)) this.refuse(FLAW.encoding);
  }

  /** Scans about `bytes` more, at least to the end of a string. Answers whether the scan is complete. */
  advance(bytes: number): boolean {
    const until = this.at + bytes;
    while (this.flaw === null && this.state !== State.done && this.at < until) this.step();
    // The end of the body may complete a value, so it needs one more step.
    if (this.at === this.end) while (this.flaw === null && this.state !== State.done) this.step();
    return this.flaw !== null || this.state === State.done;
  }

  private refuse(flaw: number): void {
    this.flaw ??= { flaw, at: this.at, element: this.inList ? this.listLength : -1 };
  }

  private step(): void {
    this.skipSpace();
    if (this.state === State.after && this.stack.length === 0) return this.finish();
    if (this.at === this.end) return this.refuse(FLAW.syntax);
    switch (this.state) {
      case State.firstElement:
        return this.body[this.at] === CLOSE_ARRAY ? this.close() : this.value();
      case State.firstKey:
        return this.body[this.at] === CLOSE_OBJECT ? this.close() : this.key();
      case State.value:
        return this.value();
      case State.key:
        return this.key();
      case State.after:
      case State.done:
        return this.after();
    }
  }

  private finish(): void {
    if (this.at !== this.end) return this.refuse(FLAW.syntax);
    if (this.list !== null && this.end - this.listBytes > this.bounds.requestBytesMax) return this.refuse(FLAW.bytes);
    this.state = State.done;
  }

  private key(): void {
    this.keyStart = this.at;
    if (this.body[this.at] !== QUOTE) return this.refuse(FLAW.syntax);
    if (!this.skipString()) return;
    this.keyEnd = this.at;
    this.skipSpace();
    if (this.body[this.at] !== COLON) return this.refuse(FLAW.syntax);
    if (++this.keys > this.bounds.jsonKeysMax) return this.refuse(FLAW.keys);
    this.at++;
    this.state = State.value;
  }

  private after(): void {
    const inObject = this.stack[this.stack.length - 1] === OPEN_OBJECT;
    const byte = this.body[this.at];
    if (byte === COMMA) {
      this.at++;
      this.state = inObject ? State.key : State.value;
    } else if (byte === (inObject ? CLOSE_OBJECT : CLOSE_ARRAY)) {
      this.close();
    } else {
      this.refuse(FLAW.syntax);
    }
  }

  private isKey(key: Buffer): boolean {
    return (
      this.keyEnd - this.keyStart === key.length &&
      this.body.compare(key, 0, key.length, this.keyStart, this.keyEnd) === 0
    );
  }

  private get inRoot(): boolean {
    return this.stack.length === 1 && this.stack[0] === OPEN_OBJECT;
  }

  private get inElement(): boolean {
    return this.inList && this.stack.length === ELEMENT_DEPTH + 1 && this.stack[ELEMENT_DEPTH] === OPEN_OBJECT;
  }

  private value(): void {
    if (this.inList && this.stack.length === ELEMENT_DEPTH) this.openElement();
    const inVector = this.vectorDepth !== 0 && this.vectorDepth === this.stack.length;
    const byte = this.body[this.at];
    if (byte === MINUS || isDigit(byte)) {
      if (!this.skipNumber()) return;
      if (!inVector) return this.scalar();
      this.vectorNumbers++;
      this.state = State.after;
      return;
    }
    if (inVector) this.leaveVector();
    if (this.flaw !== null) return;
    if (byte === QUOTE) {
      if (this.skipString()) this.scalar();
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      this.open(byte);
    } else {
      const word = WORDS.find((candidate) => this.body.subarray(this.at, this.at + candidate.length).equals(candidate));
      if (word === undefined) return this.refuse(FLAW.syntax);
      this.at += word.length;
      this.scalar();
    }
  }

  private scalar(): void {
    this.count(1);
    this.endValue();
  }

  private count(values: number): void {
    this.values += values;
    if (this.values > this.bounds.jsonValuesMax) this.refuse(FLAW.values);
  }

  private open(kind: number): void {
    if (this.stack.length === this.bounds.jsonDepthMax) return this.refuse(FLAW.depth);
    this.count(1);
    if (kind === OPEN_ARRAY && this.inRoot && this.listKey !== null && this.isKey(this.listKey)) {
      this.openList();
    } else if (kind === OPEN_ARRAY && !this.isVectorMet && (this.inRoot || this.inElement) && this.isKey(VECTOR_KEY)) {
      this.isVectorMet = true;
      this.vectorDepth = this.stack.length + 1;
      this.vectorNumbers = 0;
    }
    this.stack.push(kind);
    this.at++;
    this.state = kind === OPEN_OBJECT ? State.firstKey : State.firstElement;
  }

  private close(): void {
    this.at++;
    if (this.vectorDepth !== 0 && this.vectorDepth === this.stack.length) this.vectorDepth = 0;
    if (this.inList && this.stack.length === ELEMENT_DEPTH) this.closeList();
    this.stack.pop();
    this.endValue();
  }

  private endValue(): void {
    this.state = State.after;
    if (this.inList && this.stack.length === ELEMENT_DEPTH) this.closeElement();
  }

  private openList(): void {
    this.lists.push(this.at);
    this.parts = [];
    this.listLength = 0;
    this.inList = true;
  }

  private closeList(): void {
    this.closePart();
    this.inList = false;
    this.listBytes += this.at - this.lists[this.lists.length - 1];
    this.lists.push(this.at);
  }

  private openElement(): void {
    this.element = this.at;
    this.rootValues = this.values;
    this.rootKeys = this.keys;
    this.values = 0;
    this.keys = 0;
    this.isRootVectorMet = this.isVectorMet;
    this.isVectorMet = false;
    if (this.partBytes === 0) this.part = this.at;
  }

  private closeElement(): void {
    const size = this.at - this.element;
    if (size > this.bounds.requestBytesMax) return this.refuse(FLAW.bytes);
    if (this.listLength < (this.list?.lengthMax ?? 0)) {
      this.partBytes += size;
      this.partValues += this.values;
      this.partEnd = this.at;
      if (this.partBytes >= PART_BYTES || this.partValues >= PART_VALUES) this.closePart();
    }
    this.listLength++;
    this.values = this.rootValues;
    this.keys = this.rootKeys;
    this.isVectorMet = this.isRootVectorMet;
  }

  private closePart(): void {
    if (this.partBytes === 0) return;
    this.parts.push(this.part, this.partEnd);
    this.partBytes = 0;
    this.partValues = 0;
  }

  private leaveVector(): void {
    this.vectorDepth = 0;
    this.count(this.vectorNumbers);
  }

  private refused(): false {
    this.refuse(FLAW.syntax);
    return false;
  }

  private skipSpace(): void {
    while (this.at < this.end && isSpace(this.body[this.at])) this.at++;
  }

  private skipDigits(): boolean {
    if (!isDigit(this.body[this.at])) return this.refused();
    while (isDigit(this.body[this.at])) this.at++;
    return true;
  }

  private skipNumber(): boolean {
    const { body } = this;
    if (body[this.at] === MINUS) this.at++;
    const whole = this.at;
    if (body[this.at] === 0x30) this.at++;
    else if (!this.skipDigits()) return false;
    if (this.at - whole >= LONG_INTEGER_DIGITS && !(this.vectorDepth !== 0 && this.vectorDepth === this.stack.length))
      this.hasLongIntegers = true;
    if (body[this.at] === 0x2e) {
      this.at++;
      if (!this.skipDigits()) return false;
    }
    if (body[this.at] === 0x45 || body[this.at] === 0x65) {
      this.at++;
      if (body[this.at] === 0x2b || body[this.at] === MINUS) this.at++;
      return this.skipDigits();
    }
    return true;
  }

  private skipString(): boolean {
    const { body, end } = this;
    let at = this.at + 1;
    while (at < end) {
      const byte = body[at];
      if (byte === QUOTE) {
        this.at = at + 1;
        return true;
      }
      if (byte < 0x20) break;
      at++;
      if (byte !== BACKSLASH) continue;
      this.at = at;
      if (!this.skipEscape()) return false;
      at = this.at;
    }
    this.at = at;
    return this.refused();
  }

  private skipEscape(): boolean {
    if (this.body[this.at] === 0x75) {
      this.at++;
      for (let i = 0; i < 4; i++) {
        if (!isHex(this.body[this.at])) return this.refused();
        this.at++;
      }
      return true;
    }
    if (!ESCAPED.has(this.body[this.at])) return this.refused();
    this.at++;
    return true;
  }
}
