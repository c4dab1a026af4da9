import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { EmbeddedProcess } from '../../support/processes/embedded-process';
import { buildFailingFiles, FailingFiles, type FileMode } from '../../support/shards/failing-files';
import type { Cell } from './cell';
import { type Call, CollectionModel } from './collection-model';
import { filesLike } from './damage';
import type { Moment, Outcome } from './expectations';
import { MACHINE_MOMENTS, type MachineRow } from './machine-expectations';
import { callOf, doneAgain, during, ONE_LINE, pause, serviceIn, soundCopy, stopInTime } from './service-calls';

const ITEMS = 40;
const STOP_DEADLINE_MS = 180_000;
/** Within which everything goes on by itself when a fault is over. */
const RECOVERY_DEADLINE_MS = 180_000;
const CHECK_MS = 200;
/** Of each call about a file that is slow. */
const SLOW_MS = 20;
const MODES: readonly FileMode[] = ['full', 'error', 'slow'];

/**
 * An embedded process whose calls about some files fail, or take longer, for a while: at each moment those of one
 * collection, beside one that nothing happens to. Nothing is done to what is on the disk.
 */
export class FailingMachine {
  private readonly folder = mkdtempSync(join(tmpdir(), 'quiver-matrix-'));
  private readonly library = buildFailingFiles(this.folder);
  private readonly models = new Map<Moment, CollectionModel>();
  private readonly uids = new Map<string, string>();
  private readonly witness: CollectionModel;
  private count = 0;

  private constructor(
    private readonly seed: number,
    private readonly faults: readonly FileMode[],
  ) {
    MACHINE_MOMENTS.forEach((moment, m) => this.models.set(moment, new CollectionModel(`c-${moment}`, seed + m)));
    this.witness = new CollectionModel('witness', seed);
  }

  static async make({
    seed,
    faults = MODES,
  }: {
    seed: number;
    faults?: readonly FileMode[] | undefined;
  }): Promise<FailingMachine> {
    const made = new FailingMachine(seed, faults);
    const service = serviceIn(join(made.folder, 'sound'));
    await service.start();
    try {
      const call = callOf(service);
      for (const model of [made.witness, ...made.models.values()]) {
        await model.make(call, { shards: 1 });
        await model.load(call, ITEMS);
      }
      await service.stop();
    } finally {
      await service.kill();
    }
    for (const path of filesLike(service.dataDir, /^node\/shards\/\w+\/collection\.json$/)) {
      const [, name] = /\\?"name\\?":\\?"([^"\\]+)/.exec(readFileSync(path, 'utf8')) as RegExpExecArray;
      made.uids.set(name, basename(dirname(path)));
    }
    return made;
  }

  destroy(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** All cells of one kind of file: each fault, at one moment after the other. */
  async cellsOf(row: MachineRow): Promise<Cell[]> {
    const cells: Cell[] = [];
    for (const fault of this.faults) cells.push(...(await this.withFault(row, fault)));
    return cells;
  }

  private async withFault(row: MachineRow, fault: FileMode): Promise<Cell[]> {
    const dataDir = soundCopy(this.folder, this.count++);
    const files = new FailingFiles(this.library, join(this.folder, `state-${this.count}`));
    const service = serviceIn(dataDir, files.environment);
    const witness = this.witness.copy(this.seed);
    const cells: Cell[] = [];
    const isWhole = !row.files.includes('<uid>');
    try {
      await service.start();
      for (const moment of MACHINE_MOMENTS) {
        const model = (this.models.get(moment) as CollectionModel).copy(this.seed);
        const uid = this.uids.get(model.name) as string;
        const begin = (): void =>
          files.begin(fault, row.files.replace('<data>', dataDir).replace('<uid>', uid), { milliseconds: SLOW_MS });
        const seen = await this.at(moment, {
          service,
          model,
          begin,
          end: () => files.restore(),
          beside: isWhole ? null : witness,
        });
        cells.push({
          place: 'embedded',
          kind: row.kind,
          fault,
          form: 'while it lasts',
          moment,
          expected: row.right[fault][moment],
          seen,
        });
      }
      // Of all that was acknowledged, whatever failed meanwhile.
      await service.kill();
      await service.start();
      const { wrong, refused } = await witness.read(callOf(service));
      const seen = wrong.length + refused.length === 0 ? 'served' : [...wrong, ...refused].join('; ');
      cells.push({
        place: 'embedded',
        kind: row.kind,
        fault,
        form: 'afterwards',
        moment: 'start after a kill',
        expected: ['served'],
        seen,
      });
    } catch (error) {
      cells.push({
        place: 'embedded',
        kind: row.kind,
        fault,
        form: 'afterwards',
        moment: 'all',
        expected: ['served'],
        seen: `broken off: ${(error as Error).message.slice(0, 2000)}`,
      });
    } finally {
      files.restore();
      await service.kill();
      files.close();
      for (const path of [dataDir, `${dataDir}-backups`]) rmSync(path, { recursive: true, force: true });
    }
    return cells;
  }

  /** What a moment comes to, from the beginning of the fault until everything has gone on without it. */
  private async at(
    moment: Moment,
    parts: {
      service: EmbeddedProcess;
      model: CollectionModel;
      begin: () => void;
      end: () => void;
      beside: CollectionModel | null;
    },
  ): Promise<string> {
    const { service, model, begin, end, beside } = parts;
    let outcome: Outcome = 'served';
    if (moment === 'stop') {
      const refusal = await model.change(callOf(service), 5);
      if (refusal !== null) return `no write before the fault: ${refusal}`;
      begin();
      const stopped = await stopInTime(service, STOP_DEADLINE_MS);
      end();
      if (stopped !== null) {
        if (!stopped.startsWith('ended with ') || !isTold(service.output))
          return `${stopped}: ${service.output.slice(-1000)}`;
        outcome = 'ends';
      }
      await service.start();
      return (await this.isRight(callOf(service), model)) ?? outcome;
    }
    if (moment === 'start') {
      await service.stop();
      begin();
      const failure = await service.start().then(
        () => null,
        (error: Error) => error.message,
      );
      if (failure !== null) {
        end();
        if (!service.hasEnded) return `neither ready nor ended: ${failure.slice(0, 1000)}`;
        if (!isTold(failure)) return `no start, and no line that says why: ${failure.slice(0, 1000)}`;
        await service.start();
        return (await this.isRight(callOf(service), model)) ?? 'ends';
      }
      outcome = await this.meanwhile(callOf(service), model);
      const wrong = beside === null ? null : await this.isRightAtOnce(callOf(service), beside);
      end();
      return wrong ?? (await this.isRight(callOf(service), model)) ?? outcome;
    }
    const call = callOf(service);
    // A search of a shard that is not open begins with what a start does, and that is a moment of its own.
    if (moment === 'search') {
      const { wrong, refused } = await model.read(call);
      if (wrong.length + refused.length > 0) return `no read before the fault: ${[...wrong, ...refused].join('; ')}`;
    }
    begin();
    const told = await during(call, moment, model, this.seed);
    const read = await model.read(call);
    if (read.wrong.length > 0) return `wrong: ${read.wrong.join('; ')}`;
    if (told !== null || read.refused.length > 0) outcome = 'waits';
    const wrong = beside === null ? null : await this.isRightAtOnce(call, beside);
    end();
    if (service.hasEnded) return `the process ended: ${service.output.slice(-2000)}`;
    if (wrong !== null) return wrong;
    if (
      told !== null &&
      told !== 'told' &&
      !/disk|director|target|input\/output|no space|damaged|retried|stor/i.test(told)
    )
      return told;
    const late = await this.isRight(call, model);
    if (late !== null) return late;
    // What was given up while the fault lasted can be asked for again.
    return told === null ? outcome : ((await doneAgain(call, moment, model, this.seed)) ?? outcome);
  }

  /** What reads and a write come to while a fault lasts. */
  private async meanwhile(call: Call, model: CollectionModel): Promise<Outcome> {
    const refusal = await model.change(call, 5);
    const { wrong, refused } = await model.read(call);
    if (wrong.length > 0) throw new Error(wrong.join('; '));
    return refusal === null && refused.length === 0 ? 'served' : 'waits';
  }

  /**
   * Null when everything is answered and right, and writes are taken, within the time that it may take; else what is
   * not so.
   */
  private async isRight(call: Call, model: CollectionModel): Promise<string | null> {
    let last = '';
    for (
      const deadline = performance.now() + RECOVERY_DEADLINE_MS;
      performance.now() < deadline;
      await pause(CHECK_MS)
    ) {
      const refusal = await model.change(call, 5);
      const { wrong, refused } = await model.read(call);
      if (wrong.length > 0) return `wrong after the fault: ${wrong.join('; ')}`;
      if (refusal === null && refused.length === 0) return null;
      last = refusal ?? refused.join('; ');
    }
    return `does not go on by itself: ${last}`;
  }

  private async isRightAtOnce(call: Call, beside: CollectionModel): Promise<string | null> {
    const refusal = await beside.change(call, 2);
    const { wrong, refused } = await beside.read(call);
    const all = [...wrong, ...refused, ...(refusal === null ? [] : [refusal])];
    return all.length === 0 ? null : `what is beside: ${all.join('; ')}`;
  }
}

/** Whether something that a process says at its end tells a person why. */
function isTold(output: string): boolean {
  return output
    .split('\n')
    .some((line) => ONE_LINE.test(line) || /no space left|input\/output|disk|cannot be/i.test(line));
}
