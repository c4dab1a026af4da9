import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedProcess } from '../../support/processes/embedded-process';
import { writeTinyModel } from '../../support/onnx/tiny-model';
import { Canary } from '../canary';
import { type FuzzTarget, pick } from '../fuzz-target';
import { faultsOfProbe, residentMiB } from '../process-oracle';
import { anyDamage, type Damage, damage, filesUnder } from './damage';

/** Damage to files of a data folder, or of the folder of a model, by the place of the file in the folder's order. */
export interface FileCase {
  folder: 'data' | 'model';
  damages: { file: string; what: Damage }[];
}

/** Damaged places that say so are not served; all else about them is a crash. */
const CRASH =
  /AddressSanitizer|runtime error:|uncaught|unhandled|FATAL ERROR|"level":60(?!,"time":"[^"]*","error":\{"type":"QuiverError","kind":"storage_damaged")/;
const RESIDENT_MAX_MIB = 1_536;
/** So many items that there is a graph, files of it in the checkpoint, and a log. */
const ITEMS = 3_000;
const DIM = 8;

/**
 * An embedded process whose files are damaged while it is down. Afterwards it must serve what was stored, rebuild what
 * it can, or refuse: to start, in one line, or the shard, by an error. Never a crash, never an answer that is not true.
 */
export class FileTarget implements FuzzTarget<FileCase> {
  readonly name = 'files';
  readonly casesPerCheck = 1;
  private folder: string | null = null;
  private files: Record<FileCase['folder'], string[]> = { data: [], model: [] };

  constructor(private readonly environment: Record<string, string> = {}) {}

  async start(): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), 'quiver-fuzzed-files-'));
    this.folder = folder;
    mkdirSync(join(folder, 'whole'));
    writeTinyModel(join(folder, 'whole', 'model'));
    const whole = this.processOn('whole');
    try {
      await whole.start();
      await Canary.store((method, path, body) => whole.call(method, path, body));
      await whole.data('POST', '/v1/collections', { name: 'crowd', dim: DIM });
      for (let from = 0; from < ITEMS; from += 1_000) {
        const items = Array.from({ length: 1_000 }, (_, i) => ({
          external_id: `c-${from + i}`,
          vector: Array.from({ length: DIM }, (_axis, axis) => Math.sin((from + i) * (axis + 1))),
          metadata: { n: from + i },
        }));
        await whole.data('POST', '/v1/collections/crowd/bulk_upsert', { items });
      }
      await whole.data('POST', '/v1/collections', { name: 'worded', dim: 32 });
      await whole.data('POST', '/v1/collections/worded/upsert', { external_id: 'cat', text: 'the cat and the dog' });
      await whole.stop();
      // A second life, ended hard: a checkpoint, and a log behind it.
      await whole.start();
      await whole.data('POST', '/v1/collections/crowd/upsert', {
        external_id: 'late',
        vector: Array.from({ length: DIM }, () => 1),
        metadata: { n: -1 },
      });
      await whole.kill();
    } finally {
      await whole.kill();
    }
    this.files = { data: filesUnder(join(folder, 'whole', 'data')), model: filesUnder(join(folder, 'whole', 'model')) };
  }

  generate(random: () => number): FileCase {
    const folder = random() < 0.85 ? 'data' : 'model';
    const damages = Array.from({ length: pick(random, [1, 1, 1, 2]) }, () => ({
      file: pick(random, this.files[folder]),
      what: anyDamage(random),
    }));
    return { folder, damages };
  }

  async run(given: FileCase): Promise<string[]> {
    const folder = this.folder as string;
    rmSync(join(folder, 'damaged'), { recursive: true, force: true });
    cpSync(join(folder, 'whole'), join(folder, 'damaged'), { recursive: true });
    for (const { file, what } of given.damages) {
      // Of two, one may have taken the other's file away.
      if (filesUnder(join(folder, 'damaged', given.folder)).includes(file))
        damage(join(folder, 'damaged', given.folder), file, what);
    }
    const damaged = this.processOn('damaged');
    try {
      const refusal = await damaged.start().then(
        () => null,
        (error: Error) => error.message,
      );
      if (refusal !== null)
        return CRASH.test(refusal) || /was not ready in time/.test(refusal) || damaged.endedBy !== null
          ? [`crash: at its start (${damaged.endedBy ?? 'no signal'}): ${refusal.slice(0, 800)}`]
          : [];
      return await this.faultsOf(damaged);
    } finally {
      await damaged.kill();
    }
  }

  async check(): Promise<string[]> {
    return [];
  }

  shrink(given: FileCase): FileCase[] {
    return given.damages.length < 2 ? [] : given.damages.map((one) => ({ ...given, damages: [one] }));
  }

  async stop(): Promise<void> {
    if (this.folder !== null) rmSync(this.folder, { recursive: true, force: true });
    this.folder = null;
  }

  private processOn(name: string): EmbeddedProcess {
    const folder = this.folder as string;
    return new EmbeddedProcess({
      dataDir: join(folder, name, 'data'),
      environment: {
        EMBEDDING_MODEL: join(folder, name, 'model'),
        EMBEDDING_THREADS: '1',
        EMBEDDING_OFFLINE: 'true',
        ...this.environment,
      },
    });
  }

  private async faultsOf(damaged: EmbeddedProcess): Promise<string[]> {
    const call = (method: string, path: string, body?: unknown): Promise<any> => damaged.call(method, path, body);
    const faults: string[] = [];
    try {
      faults.push(...(await Canary.look(call)).wrong);
      const crowd = await call('POST', '/v1/collections/crowd/search', {
        vector: Array.from({ length: DIM }, () => 1),
        k: 1,
        exact: true,
      });
      if (
        crowd.status === 'success' &&
        (crowd.data.total_count !== ITEMS + 1 || crowd.data.results[0].external_id !== 'late')
      )
        faults.push(`loss: crowd answered ${JSON.stringify(crowd.data).slice(0, 300)}`);
      // An export that meets a damaged record after its first pages is broken off: it never seems whole.
      const pages = await call('GET', `/v1/collections/crowd/export?limit=${ITEMS + 10}`).catch((error: Error) => {
        if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
        return { status: 'error' };
      });
      if (pages.status === 'success' && pages.data.count !== ITEMS + 1)
        faults.push(`loss: crowd exported ${pages.data.count} items of ${ITEMS + 1}`);
      const worded = await call('POST', '/v1/collections/worded/search', { text: 'the cat and the dog', k: 1 });
      if (worded.status === 'success' && worded.data.results[0]?.external_id !== 'cat')
        faults.push(`loss: worded answered ${JSON.stringify(worded.data).slice(0, 300)}`);
    } catch (error) {
      faults.push(`crash: ${(error as Error).message}: ${damaged.output.slice(-600)}`);
    }
    if (damaged.endedBy !== null || CRASH.test(damaged.output))
      return [...faults, `crash: ${damaged.endedBy ?? ''} ${damaged.output.slice(-600)}`];
    faults.push(...(await faultsOfProbe('embedded', damaged.opsPort)));
    const resident = residentMiB(damaged.pid);
    if (resident !== null && resident > RESIDENT_MAX_MIB) faults.push(`memory: ${resident} MiB`);
    return faults;
  }
}
