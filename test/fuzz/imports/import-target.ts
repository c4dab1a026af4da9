import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Format, formatOf } from '../../../cli/formats/open-source';
import { mutateBytes, smallerBytes } from '../byte-mutation';
import { processorTimeOf } from '../../support/processes/processor-time';
import { below, type FuzzTarget, pick } from '../fuzz-target';
import { OVERSIZED_FILES } from './oversized-files';

/** A file to import: its bytes in base64, or how many parts it has of a kind; and the name that says its format. */
export type ImportCase = { name: string; bytes: string } | { name: string; parts: number };

interface ReadAnswer {
  rows: number;
  /** Why it could not be read; null: it was. */
  message: string | null;
  /** Of an error that is no message for the user. */
  unexpected: string | null;
  /** The most memory that the process has had. */
  peakMiB: number;
}

/** Small files of every format, most of them written by pyarrow and numpy. */
const CORPUS = join(__dirname, '..', 'corpus', 'imports');
/** Of processor time: on a machine that is full, a reader may wait for minutes for its turn. */
const ANSWER_WITHIN_MS = 20_000;
const CHECK_MS = 2_000;
/** A reader that has no turn, or sleeps, for so long. */
const SILENT_MAX_MS = 600_000;
const PEAK_MAX_MIB = 512;
/** Of a larger heap, columns together may take more. */
const HEAP = '--max-old-space-size=512';
/** What stands for a length or a place in binary formats, at its limits. */
const EXTREMES = [
  0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x10000, 0xffffff, 0x1000000, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff,
];
const RUN_BYTES_MAX = 24;
/** One file of so many has very many parts: it takes a hundred times as long. */
const OVERSIZED_OF = 50;
const PARTS_MAX = 3_000_000;

/** Files that `quiver import` reads, changed: each is read, or refused with a message, in little time and memory. */
export class ImportTarget implements FuzzTarget<ImportCase> {
  readonly name = 'imports';
  readonly casesPerCheck = 1_000;
  private folder: string | null = null;
  private reader: ChildProcess | null = null;
  private output = '';
  private readonly seeds = readdirSync(CORPUS).map((name) => ({ name, bytes: readFileSync(join(CORPUS, name)) }));
  private turn = 0;

  constructor(private readonly environment: Record<string, string> = {}) {}

  async start(): Promise<void> {
    this.folder = mkdtempSync(join(tmpdir(), 'quiver-fuzzed-imports-'));
    this.startReader();
    for (const { name, bytes } of this.seeds) {
      const answer = await this.read(name, bytes);
      if (answer?.message !== null || answer.rows === 0)
        throw new Error(`${name} as it is: ${JSON.stringify(answer)} ${this.output}`);
    }
  }

  /** Every file of the corpus has its turn. */
  generate(random: () => number): ImportCase {
    if (below(random, OVERSIZED_OF) === 0)
      return { name: pick(random, Object.keys(OVERSIZED_FILES)), parts: 1 + below(random, PARTS_MAX) };
    const { name, bytes } = this.seeds[this.turn++ % this.seeds.length];
    const changed = random() < 0.5 ? mutateBytes(random, bytes) : withExtremes(random, bytes);
    return { name, bytes: changed.toString('base64') };
  }

  async run(given: ImportCase): Promise<string[]> {
    const { name } = given;
    const answer = await this.read(
      name,
      'parts' in given ? OVERSIZED_FILES[name](given.parts) : Buffer.from(given.bytes, 'base64'),
    );
    if (answer === null) {
      const isAlive = this.reader !== null && this.reader.exitCode === null && this.reader.signalCode === null;
      const fault = isAlive
        ? `hang: ${name} is not read after ${ANSWER_WITHIN_MS} ms of processor time`
        : `death: reading ${name} ended the process: ${this.output.slice(-600)}`;
      this.startReader();
      return [fault];
    }
    const faults = answer.unexpected === null ? [] : [`error: ${name}: ${answer.unexpected}`];
    if (answer.peakMiB > PEAK_MAX_MIB) {
      faults.push(`memory: reading ${name} took ${answer.peakMiB} MiB`);
      this.startReader();
    }
    return faults;
  }

  async check(): Promise<string[]> {
    const { name, bytes } = this.seeds[0];
    const answer = await this.read(name, bytes);
    return answer !== null && answer.message === null
      ? []
      : [`health: ${name} is not read any more: ${JSON.stringify(answer)}`];
  }

  shrink(given: ImportCase): ImportCase[] {
    const { name } = given;
    if ('parts' in given)
      return [2, 1.1].map((by) => ({ name, parts: Math.floor(given.parts / by) })).filter(({ parts }) => parts > 0);
    const { bytes } = given;
    return smallerBytes(Buffer.from(bytes, 'base64')).map((smaller) => ({ name, bytes: smaller.toString('base64') }));
  }

  async stop(): Promise<void> {
    this.reader?.kill('SIGKILL');
    this.reader = null;
    if (this.folder !== null) rmSync(this.folder, { recursive: true, force: true });
    this.folder = null;
  }

  private startReader(): void {
    this.reader?.kill('SIGKILL');
    this.output = '';
    const reader = fork(join(__dirname, 'reader-process.cjs'), {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, ...this.environment },
      execArgv: [HEAP],
    });
    for (const stream of [reader.stdout, reader.stderr])
      stream?.on('data', (piece: Buffer) => (this.output = (this.output + piece.toString()).slice(-8_192)));
    this.reader = reader;
  }

  /** null: no answer in time, or the process ended. */
  private async read(name: string, bytes: Buffer): Promise<ReadAnswer | null> {
    const path = join(this.folder as string, name);
    writeFileSync(path, bytes);
    const reader = this.reader as ChildProcess;
    return new Promise((resolve) => {
      const end = (answer: ReadAnswer | null): void => {
        clearInterval(timer);
        reader.off('message', onMessage);
        reader.off('exit', onExit);
        resolve(answer);
      };
      const onMessage = (answer: unknown): void => end(answer as ReadAnswer);
      const onExit = (): void => end(null);
      const begin = { atMs: performance.now(), usedMs: processorTimeOf(reader.pid) };
      const timer = setInterval(() => {
        const elapsedMs = performance.now() - begin.atMs;
        const usedMs = processorTimeOf(reader.pid);
        const spentMs = begin.usedMs === null || usedMs === null ? elapsedMs : usedMs - begin.usedMs;
        if (spentMs >= ANSWER_WITHIN_MS || elapsedMs >= SILENT_MAX_MS) end(null);
      }, CHECK_MS);
      reader.on('message', onMessage);
      reader.on('exit', onExit);
      reader.send({ path, format: formatOf(name) as Format });
    });
  }
}

/** The bytes with one to three numbers in the place of what was there: fixed ones, or of a variable length. */
function withExtremes(random: () => number, bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes);
  for (let rounds = 1 + below(random, 3); rounds > 0; rounds -= 1) {
    // Heads and footers hold the lengths, and lie at the ends.
    const near = pick(random, [0, 0, 1, 2]);
    const within = Math.min(changed.length, 2_048);
    const at =
      near === 0
        ? below(random, changed.length)
        : near === 1
          ? below(random, within)
          : changed.length - 1 - below(random, within);
    const number = pick(random, EXTREMES);
    switch (below(random, 4)) {
      case 0:
        changed[at] = number & 0xff;
        break;
      case 1:
        if (at + 4 <= changed.length) changed.writeUInt32LE(number >>> 0, at);
        break;
      case 2:
        if (at + 8 <= changed.length)
          changed.writeBigUInt64LE(BigInt.asUintN(64, BigInt(number) * BigInt(pick(random, [1, 256, 65_536, -1]))), at);
        break;
      default: {
        // Digits of a number of variable length, all ones.
        const end = Math.min(changed.length, at + 1 + below(random, RUN_BYTES_MAX));
        changed.fill(0xff, at, end);
        if (end < changed.length) changed[end] = 0x0f;
      }
    }
  }
  return changed;
}
