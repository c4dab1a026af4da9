import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { EmbeddedProcess } from '../../support/processes/embedded-process';
import type { Cell } from './cell';
import { CollectionModel } from './collection-model';
import { damage, damageOf, filesLike, FORMS, type Form } from './damage';
import { type KindRow, type Moment, MOMENTS, type Outcome } from './expectations';
import { callOf, during, inTurns, outcomeOf, over, serviceIn, soundCopy, stopInTime } from './service-calls';

const ITEMS = 40;
/** Of one process, a start or a stop. */
const STOP_DEADLINE_MS = 180_000;
/** Of what a process said that ended by itself. */
const LAST_WORDS = 3000;
/** What the log says of what was made again. */
const MADE_ANEW = /rebuilt|opened again|made anew/;
/** What is done to files while they are in use: a form of each damage. */
const WHILE_RUNNING: readonly Form[] = ['missing', 'cut to half', 'bit in the middle'];

interface Part {
  form: Form;
  moment: Moment;
  model: CollectionModel;
  uid: string;
}

/**
 * Shards of the embedded form of which one file is damaged: a collection of one shard for each form of damage and
 * moment, in one service, beside one that nothing happens to. All are damaged at once, so that each cell also shows
 * that damage takes nothing else along.
 */
export class DamagedShards {
  private readonly folder = mkdtempSync(join(tmpdir(), 'quiver-matrix-'));
  private parts: Part[] = [];
  private witness!: CollectionModel;
  private count = 0;

  private constructor(
    private readonly seed: number,
    private readonly forms: readonly Form[],
    private readonly runningForms: readonly Form[],
  ) {}

  /** Makes the folder that every kind is tried on. `options`: of the collections. */
  static async make(order: {
    seed: number;
    options: object;
    forms?: readonly Form[];
    runningForms?: readonly Form[];
  }): Promise<DamagedShards> {
    const { seed, options, forms = FORMS, runningForms = WHILE_RUNNING } = order;
    const made = new DamagedShards(seed, forms, runningForms);
    await made.prepare(options);
    return made;
  }

  destroy(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** All cells of one kind of file. */
  async cellsOf(row: KindRow): Promise<Cell[]> {
    return [...(await this.damagedWhileStopped(row)), ...(await this.damagedWhileRunning(row))];
  }

  private async prepare(options: object): Promise<void> {
    const service = serviceIn(join(this.folder, 'sound'));
    await service.start();
    try {
      const call = callOf(service);
      this.witness = new CollectionModel('witness', this.seed);
      await this.witness.make(call, { shards: 1, ...options });
      await this.witness.load(call, ITEMS);
      this.parts = MOMENTS.flatMap((moment, m) =>
        (moment === 'start' ? this.forms : this.runningForms).map((form, f) => ({
          form,
          moment,
          model: new CollectionModel(`c-${m}-${f}`, this.seed + m * 100 + f),
          uid: '',
        })),
      );
      await inTurns(this.parts, async ({ model }) => {
        await model.make(call, { shards: 1, ...options });
        await model.load(call, ITEMS);
      });
      // Each shard has a lineage from its first backup on.
      const { data } = await call('POST', '/v1/admin/backups', {});
      await over(() => call('GET', `/v1/admin/backups/${data.id}`));
      // The checkpoint of the stop has indexes. By the start, what is in the log becomes a table, and some are in a log
      // again.
      await service.stop();
      await service.start();
      await inTurns(this.parts, async ({ model }) => void (await model.change(call, 5)));
      await this.witness.change(call, 5);
    } finally {
      await service.kill();
    }
    const uids = new Map(
      filesLike(join(this.folder, 'sound'), /^node\/shards\/\w+\/collection\.json$/).map((path) => {
        const [, name] = /\\?"name\\?":\\?"([^"\\]+)/.exec(readFileSync(path, 'utf8')) as RegExpExecArray;
        return [name, basename(dirname(path))];
      }),
    );
    for (const part of this.parts) part.uid = uids.get(part.model.name) as string;
  }

  private async damagedWhileStopped(row: KindRow): Promise<Cell[]> {
    const dataDir = soundCopy(this.folder, this.count++);
    const parts = this.parts
      .filter(({ moment }) => moment === 'start')
      .map((part) => ({ ...part, model: part.model.copy(this.seed) }));
    const hit = parts.filter((part) => this.damageIn(dataDir, row, part));
    const service = serviceIn(dataDir);
    const cells: Cell[] = [];
    try {
      const failure = await service.start().then(
        () => null,
        (error: Error) => error.message,
      );
      await inTurns(hit, async (part) => {
        const seen = failure === null ? await this.outcomeOf(service, part) : `no start: ${failure}`;
        cells.push(cellOf(row, part, 'start', row.start, seen));
      });
      if (failure === null) cells.push(...(await this.ends(service, row, 'start')));
    } finally {
      await service.kill();
      rmSync(dataDir, { recursive: true, force: true });
    }
    return cells;
  }

  private async damagedWhileRunning(row: KindRow): Promise<Cell[]> {
    const dataDir = soundCopy(this.folder, this.count++);
    const parts = this.parts
      .filter(({ moment }) => moment !== 'start')
      .map((part) => ({ ...part, model: part.model.copy(this.seed) }));
    const service = serviceIn(dataDir);
    const cells: Cell[] = [];
    try {
      await service.start();
      const hit = parts.filter((part) => this.damageIn(dataDir, row, part));
      const call = callOf(service);
      await inTurns(hit, async (part) => {
        if (part.moment === 'stop') return;
        const told = await during(call, part.moment, part.model, this.seed);
        const seen = await this.outcomeOf(service, part);
        cells.push(
          cellOf(
            row,
            part,
            part.moment,
            row.running,
            (seen === 'served' || seen === 'rebuilt') && told !== null ? told : seen,
          ),
        );
      });
      cells.push(...(await this.ends(service, row, 'running')));
      const failure = await service.start().then(
        () => null,
        (error: Error) => error.message,
      );
      await inTurns(hit, async (part) => {
        const seen = failure === null ? await this.outcomeOf(service, part) : `no start: ${failure}`;
        const after = { expected: [...new Set<Outcome>([...row.start[damageOf(part.form)], 'served', 'rebuilt'])] };
        cells.push({
          ...cellOf(row, part, part.moment === 'stop' ? 'stop' : `start after ${part.moment}`, row.start, seen),
          ...after,
        });
      });
      if (failure === null) cells.push(...(await this.ends(service, row, 'start after running')));
    } finally {
      await service.kill();
      rmSync(dataDir, { recursive: true, force: true });
    }
    return cells;
  }

  /** What the calls about a part come to. */
  private async outcomeOf(service: EmbeddedProcess, { model, uid }: Part): Promise<string> {
    const isTold = (line: string): boolean =>
      (line.includes(uid) || line.includes(`"${model.name}"`)) && MADE_ANEW.test(line);
    return outcomeOf(await model.read(callOf(service)), model.name, () => service.output.split('\n').some(isTold));
  }

  /** The collection that nothing happened to, and whether the process stops in order and in time. */
  private async ends(service: EmbeddedProcess, row: KindRow, moment: string): Promise<Cell[]> {
    const others = await this.witness.copy(this.seed).read(callOf(service));
    const wrong = [...others.wrong, ...others.refused];
    if (service.hasEnded)
      wrong.push(`the process ended: ${service.endedBy ?? 'by itself'}: ${service.output.slice(-LAST_WORDS)}`);
    const stopped = await stopInTime(service, STOP_DEADLINE_MS);
    const cell = {
      place: 'embedded',
      kind: row.kind,
      fault: 'all of them',
      form: 'all',
      moment,
      expected: ['served'] as Outcome[],
    };
    return [
      { ...cell, form: 'what is beside', seen: wrong.length === 0 ? 'served' : wrong.join('; ') },
      { ...cell, form: 'the stop', seen: stopped ?? 'served' },
    ];
  }

  private damageIn(dataDir: string, row: KindRow, { form, uid }: Part): boolean {
    const inShard = filesLike(join(dataDir, 'node/shards', uid, '0'), row.file);
    const files = inShard.length > 0 ? inShard : filesLike(dataDir, new RegExp(row.file.source.replace('<uid>', uid)));
    if (files.length === 0) throw new Error(`there is no ${row.kind}`);
    return files.map((path) => damage(path, form)).includes(true);
  }
}

function cellOf(row: KindRow, { form }: Part, moment: string, expected: KindRow['start'], seen: string): Cell {
  const fault = damageOf(form);
  return { place: 'embedded', kind: row.kind, fault, form, moment, expected: expected[fault], seen };
}
