import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EmbeddedProcess } from '../../support/processes/embedded-process';
import type { Cell } from './cell';
import { CollectionModel } from './collection-model';
import { damage, damageOf, filesLike, type Form } from './damage';
import type { KindRow, Outcome } from './expectations';
import { callOf, during, ONE_LINE, outcomeOf, serviceIn, soundCopy, stopInTime } from './service-calls';

const ITEMS = 40;
const STOP_DEADLINE_MS = 180_000;
const TOLD = /secret/;
/** What is done to files while they are in use. */
const WHILE_RUNNING: readonly Form[] = ['missing', 'cut to half', 'bit in the middle'];
const MOMENTS_RUNNING = ['search', 'load', 'backup', 'reshard'] as const;

/**
 * One file of the folder of an embedded process, apart from its shards, is damaged: while it does not run, and while it
 * does.
 */
export class DamagedFolder {
  private readonly folder = mkdtempSync(join(tmpdir(), 'quiver-matrix-'));
  private readonly model: CollectionModel;
  private count = 0;

  private constructor(
    private readonly seed: number,
    private readonly forms: readonly Form[],
  ) {
    this.model = new CollectionModel('things', seed);
  }

  static async make({ seed, forms }: { seed: number; forms: readonly Form[] }): Promise<DamagedFolder> {
    const made = new DamagedFolder(seed, forms);
    const service = serviceIn(join(made.folder, 'sound'));
    await service.start();
    try {
      const call = callOf(service);
      await made.model.make(call, { shards: 1 });
      await made.model.load(call, ITEMS);
      // The secret of backups is made with the first.
      await during(call, 'backup', made.model, seed);
      await call('DELETE', `/v1/collections/${made.model.name}-restored`);
      // By a start, what is in a log becomes a table.
      await service.stop();
      await service.start();
      await made.model.change(call, 5);
      await call('PATCH', '/v1/collections/things', { description: 'changed' });
    } finally {
      await service.kill();
    }
    return made;
  }

  destroy(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  async cellsOf(row: KindRow): Promise<Cell[]> {
    const cells: Cell[] = [];
    for (const form of this.forms) cells.push(...(await this.damagedWhileStopped(row, form)));
    for (const form of this.forms.filter((one) => WHILE_RUNNING.includes(one)))
      cells.push(...(await this.damagedWhileRunning(row, form)));
    return cells;
  }

  private async damagedWhileStopped(row: KindRow, form: Form): Promise<Cell[]> {
    const service = serviceIn(soundCopy(this.folder, this.count++));
    try {
      if (!damageIn(service.dataDir, row, form)) return [];
      return [
        cellOf(row, form, 'start', row.start[damageOf(form)], await this.started(service, this.model.copy(this.seed))),
      ];
    } finally {
      await this.remove(service);
    }
  }

  private async damagedWhileRunning(row: KindRow, form: Form): Promise<Cell[]> {
    const service = serviceIn(soundCopy(this.folder, this.count++));
    const model = this.model.copy(this.seed);
    const cells: Cell[] = [];
    try {
      await service.start();
      if (!damageIn(service.dataDir, row, form)) return [];
      const call = callOf(service);
      for (const moment of MOMENTS_RUNNING) {
        const told = await during(call, moment, model, this.seed);
        const seen = outcomeOf(await model.read(call), model.name, () => false);
        cells.push(
          cellOf(row, form, moment, row.running[damageOf(form)], seen === 'served' && told !== null ? told : seen),
        );
      }
      cells.push(cellOf(row, form, 'stop', ['served'], (await stopInTime(service, STOP_DEADLINE_MS)) ?? 'served'));
      const expected = [...new Set<Outcome>([...row.start[damageOf(form)], 'served'])];
      cells.push(cellOf(row, form, 'start after stop', expected, await this.started(service, model)));
    } finally {
      await this.remove(service);
    }
    return cells;
  }

  /** What a start comes to, with all reads, a write and a stop after it. */
  private async started(service: EmbeddedProcess, model: CollectionModel): Promise<string> {
    const failure = await service.start().then(
      () => null,
      (error: Error) => error.message,
    );
    if (failure !== null) {
      const said = failure.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
      return said.length === 1 && ONE_LINE.test(said[0])
        ? 'ends'
        : `no start, and no line that says what to do: ${failure}`;
    }
    const call = callOf(service);
    const refusal = await model.change(call, 5);
    const seen = outcomeOf(await model.read(call), model.name, () => false);
    const stopped = await stopInTime(service, STOP_DEADLINE_MS);
    if (stopped !== null) return stopped;
    if (seen === 'served' && refusal !== null) return `no write: ${refusal}`;
    return seen === 'served' && service.output.split('\n').some((line) => TOLD.test(line)) ? 'told' : seen;
  }

  private async remove(service: EmbeddedProcess): Promise<void> {
    await service.kill();
    for (const path of [service.dataDir, `${service.dataDir}-backups`]) rmSync(path, { recursive: true, force: true });
  }
}

function damageIn(dataDir: string, { kind, file }: KindRow, form: Form): boolean {
  const files = filesLike(dataDir, file);
  if (files.length === 0) throw new Error(`there is no ${kind}`);
  return files.map((path) => damage(path, form)).includes(true);
}

function cellOf({ kind }: KindRow, form: Form, moment: string, expected: readonly Outcome[], seen: string): Cell {
  return { place: 'embedded', kind, fault: damageOf(form), form, moment, expected, seen };
}
