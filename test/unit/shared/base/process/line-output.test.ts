import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '../../../../../shared/base/logs/pino-logger';
import { LineOutput, type LineOutputParts } from '../../../../../shared/base/process/line-output';
import { stuckThreads } from '../../../../../shared/base/process/stuck-threads';
import { eventually } from '../../../../support/eventually';

/**
 * A file, pipe or reader that takes so many bytes, or fails. Answers come when they are let go, or in the next turn.
 */
class Place {
  taken = '';
  /** How many more bytes it has room for. */
  room = Infinity;
  /** What a write without room fails with; null: the reader stands still (EAGAIN). */
  error: string | null = null;
  attempts = 0;
  private held: (() => void)[] | null = null;

  readonly system: NonNullable<LineOutputParts['system']> = {
    write: (_file, bytes, at, _length, _position, done) => {
      const answer = (): void => {
        this.attempts += 1;
        try {
          done(null, this.take(bytes.subarray(at)));
        } catch (error) {
          done(error as Error, 0);
        }
      };
      if (this.held === null) setImmediate(answer);
      else this.held.push(answer);
    },
    writeSync: (_file, bytes, at) => this.take(bytes.subarray(at)),
  };

  hold(): void {
    this.held = [];
  }

  letGo(): void {
    const { held } = this;
    this.held = null;
    for (const answer of held ?? []) answer();
  }

  private take(bytes: Buffer): number {
    const count = Math.min(bytes.length, this.room);
    if (count === 0) {
      const code = this.error ?? 'EAGAIN';
      throw Object.assign(new Error(`${code}: write`), { code });
    }
    this.taken += bytes.toString('latin1', 0, count);
    this.room -= count;
    return count;
  }
}

function openOn(place: Place, parts: Partial<LineOutputParts> = {}): LineOutput {
  return new LineOutput({ file: -1, mayBlock: false, system: place.system, retryMs: 1, ...parts });
}

const lines = (count: number, from = 0): string[] => Array.from({ length: count }, (_, i) => `line ${from + i}\n`);

test('lines are written whole and in order, those of one turn together', async () => {
  const place = new Place();
  const output = openOn(place);
  for (const line of lines(1000)) output.write(line);
  await output.flush();
  expect(place.taken).toBe(lines(1000).join(''));
  expect(place.attempts).toBe(1);
  output.write('x'.repeat(200_000) + '\n');
  for (const line of lines(3)) output.write(line);
  await output.flush();
  expect(place.taken.slice(-21)).toBe(lines(3).join(''));
  expect([output.lostLines, output.heldBytes, output.isFailing]).toEqual([0, 0, false]);
});

test.each(['ENOSPC', 'EIO', 'EPIPE', 'EBADF'])(
  '%s ends nothing: lines wait, are cut nowhere, and are written when it is over',
  async (code) => {
    const place = new Place();
    const output = openOn(place);
    place.error = code;
    place.room = 10;
    for (const line of lines(5)) output.write(line);
    await eventually('it is known', () => output.isFailing);
    expect(place.taken).toBe('line 0\nlin');
    for (const line of lines(5, 5)) output.write(line);
    const { attempts } = place;
    await eventually('it is tried again', () => place.attempts > attempts + 2);
    place.room = Infinity;
    await eventually('all is written', () => output.heldBytes === 0);
    expect(place.taken).toBe(lines(10).join(''));
    expect([output.lostLines, output.isFailing]).toEqual([0, false]);
  },
);

test('what waits is bounded; what is beyond is counted, and the log says once how many lines are missing, and where', async () => {
  const place = new Place();
  const output = openOn(place, { waitingBytesMax: 70 });
  const log = createLogger({
    level: 'info',
    secrets: [],
    output: {
      write: (line) => output.write(`${(JSON.parse(line) as { msg: string }).msg}\n`),
      flush: () => output.flush(),
      flushNow: () => output.flushNow(),
      onLost: (tell) => (output.onLost = tell),
    },
  });
  place.room = 0;
  place.error = 'ENOSPC';
  for (const line of lines(1000)) {
    log.info({}, line.trimEnd());
    expect(output.heldBytes).toBeLessThanOrEqual(70);
  }
  await eventually('it was tried', () => place.attempts > 1);
  expect(output.lostLines).toBe(990);
  const told: [number, string | null][] = [];
  const { onLost } = output;
  output.onLost = (count, reason) => {
    told.push([count, reason]);
    onLost?.(count, reason);
  };
  place.room = Infinity;
  await eventually('all is written', () => output.heldBytes === 0);
  log.info({}, 'later');
  await output.flush();
  expect(place.taken).toBe(
    [...lines(10), 'lines of the log were lost here, because they could not be written\n', 'later\n'].join(''),
  );
  expect(told).toEqual([[990, 'ENOSPC: write']]);
});

test('a line that is longer than what may wait is lost by itself', async () => {
  const place = new Place();
  const output = openOn(place, { waitingBytesMax: 70 });
  output.write('x'.repeat(100));
  output.write('next\n');
  await output.flush();
  expect([place.taken, output.lostLines]).toEqual(['next\n', 1]);
});

test('a reader that is slow gets every line; one that stands still costs no more than the bound', async () => {
  const place = new Place();
  const output = openOn(place);
  place.room = 3;
  for (const line of lines(20)) output.write(line);
  await eventually('all is written', () => {
    if (place.room === 0) place.room = 3;
    return output.heldBytes === 0;
  });
  expect(place.taken).toBe(lines(20).join(''));
  place.room = 0;
  for (let i = 0; i < 200_000; i += 1) output.write(`${'x'.repeat(99)}\n`);
  expect(output.heldBytes).toBeLessThanOrEqual(4 * 1024 * 1024);
  expect(output.isFailing).toBe(true);
});

test('a flush ends whatever becomes of the lines', async () => {
  const place = new Place();
  const output = openOn(place, { retryMs: 3_600_000 });
  place.room = 0;
  output.write('a\n');
  await output.flush();
  place.error = 'EIO';
  await output.flush();
  place.hold();
  await output.flush();
  expect(place.taken).toBe('');
});

test('an end at once writes what it can, and waits for nobody', async () => {
  const place = new Place();
  const output = openOn(place);
  place.room = 0;
  output.write('a\n');
  output.flushNow();
  place.error = 'ENOSPC';
  output.flushNow();
  expect(place.taken).toBe('');
  place.room = Infinity;
  output.flushNow();
  expect(place.taken).toBe('a\n');
  output.write('b\n');
  output.flushNow();
  await output.flush();
  expect(place.taken).toBe('a\nb\n');
});

test('a write of this process that does not end is known as a stuck thread, and nothing more is written at an end at once', async () => {
  const place = new Place();
  const output = openOn(place, { mayBlock: true });
  place.hold();
  output.write('a\n');
  await output.flush();
  expect(stuckThreads()).toBe(1);
  output.write('b\n');
  output.flushNow();
  expect([stuckThreads(), place.taken]).toEqual([1, '']);
});

describe('lines that somebody waits for', () => {
  test('are told when they are written', async () => {
    const place = new Place();
    const output = openOn(place);
    place.hold();
    let isWritten = false;
    const written = output.append('a\nb\n').then(() => (isWritten = true));
    output.write('c\n');
    await new Promise((done) => setImmediate(done));
    expect(isWritten).toBe(false);
    place.letGo();
    await written;
    await output.flush();
    expect(place.taken).toBe('a\nb\nc\n');
  });

  test('are given back when that fails, all of them or none, and those of the log wait', async () => {
    const place = new Place();
    const output = openOn(place);
    place.room = 3;
    place.error = 'ENOSPC';
    const begun = output.append('a\nb\n');
    const others = [output.append('c\n')];
    output.write('d\n');
    others.push(output.append('e\n'));
    for (const other of others) await expect(other).rejects.toThrow('ENOSPC');
    place.room = Infinity;
    await begun;
    await output.flush();
    expect(place.taken).toBe('a\nb\nd\n');
  });
});

test('on a real file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-lines-'));
  const file = openSync(join(folder, 'log'), 'a');
  const output = new LineOutput({ file, mayBlock: true });
  for (const line of lines(10_000)) output.write(line);
  await output.flush();
  output.write('last\n');
  output.flushNow();
  expect(readFileSync(join(folder, 'log'), 'utf8')).toBe(`${lines(10_000).join('')}last\n`);
  closeSync(file);
  rmSync(folder, { recursive: true });
});
