import { ReaderPace, type TakenBytes } from '../../../../../coordinator/api/connections/reader-pace';

/** Who is fast enough, by a clock and by bytes that the tests give. */

const BOUNDS = { stallTimeoutMs: 30_000, stallBytesPerSecond: 4096 };

class Reader {
  answer = 0;
  connection = 0;
  isBusy = false;
  readonly bytes: TakenBytes;
  private nowMs = 0;
  private readonly pace: ReaderPace;

  constructor(isShared = false, bounds = BOUNDS) {
    const ofAnswer = (): number => this.answer;
    const ofConnection = (): number => (isShared ? this.connection : this.answer);
    this.bytes = { isShared, ofAnswer, ofConnection, isLineBusy: () => this.isBusy } as unknown as TakenBytes;
    this.pace = new ReaderPace(bounds);
    this.pace.begin(0, this.bytes);
  }

  /** Seconds until it is cut off, when it takes `bytes` every so many seconds; Infinity: never within a day. */
  lasts(bytes: number, everySeconds: number, ofConnection = 0): number {
    const { lookMs } = this.pace;
    let next = everySeconds * 1000;
    while (this.nowMs < 86_400_000) {
      this.nowMs += lookMs;
      this.connection += (ofConnection * lookMs) / 1000;
      for (; next <= this.nowMs; next += everySeconds * 1000) this.answer += bytes;
      if (!this.pace.look(this.nowMs, this.bytes)) return Math.round(this.nowMs / 1000);
    }
    return Infinity;
  }

  /** It is not waited for. */
  rests(seconds: number): void {
    this.nowMs += seconds * 1000;
    this.pace.begin(this.nowMs, this.bytes);
  }

  pauses(seconds: number): boolean {
    this.nowMs += seconds * 1000;
    return this.pace.look(this.nowMs, this.bytes);
  }
}

test('who takes nothing is cut off after the time of patience', () => {
  expect(new Reader().lasts(0, 1)).toBe(30);
});

test('a byte now and then does not do', () => {
  expect(new Reader().lasts(1, 20)).toBe(34);
  expect(new Reader().lasts(1000, 1)).toBeLessThan(60);
});

test('a slow line passes, smoothly or in bursts', () => {
  expect(new Reader().lasts(4096, 1)).toBe(Infinity);
  expect(new Reader().lasts(64 * 1024, 16)).toBe(Infinity);
  expect(new Reader().lasts(20_000, 1)).toBe(Infinity);
});

test('who was fast is no more than one time of patience ahead', () => {
  const reader = new Reader();
  reader.answer = 1e9;
  expect(reader.lasts(1, 20)).toBeLessThanOrEqual(70);
});

test('times in which nobody waits for the client do not count', () => {
  const reader = new Reader();
  for (let i = 0; i < 100; i++) reader.rests(60);
  expect(reader.lasts(4096, 1)).toBe(Infinity);
});

test('a pause of the process is not the client’s', () => {
  expect(new Reader().pauses(1000)).toBe(true);
});

test('with 0 bytes a second, one byte is enough', () => {
  expect(new Reader(false, { stallTimeoutMs: 30_000, stallBytesPerSecond: 0 }).lasts(1, 20)).toBe(Infinity);
});

describe('over HTTP/2', () => {
  test('an answer waits while others take their share of a slow line', () => {
    const reader = new Reader(true);
    reader.isBusy = true;
    expect(reader.lasts(0, 1, 8192)).toBe(Infinity);
  });

  test('but not while the line is free, whatever else goes over it', () => {
    expect(new Reader(true).lasts(0, 1, 1_000_000)).toBe(30);
  });

  test('nor on a line that is too slow for all', () => {
    const reader = new Reader(true);
    reader.isBusy = true;
    expect(reader.lasts(0, 1, 100)).toBe(30);
  });
});
