import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { contentOf, type ShardManifest } from '../../../shared/backup-store/backup-format';
import { SHARD_MANIFEST } from '../../../shared/backup-store/content-schemas';
import { API_KEY, ClusterProcesses } from '../../support/processes/cluster-processes';
import { EmbeddedProcess } from '../../support/processes/embedded-process';
import type { Cell } from './cell';
import { type Call, CollectionModel } from './collection-model';
import { damage, damageOf, filesLike, type Form } from './damage';
import { callOf, over } from './service-calls';
import { type ServiceForm, TARGET_MOMENTS, type TargetMoment, type TargetRow } from './target-expectations';

const ITEMS = 40;
/** One of each damage. */
const FORMS_HERE: readonly Form[] = ['missing', 'cut to half', 'bit in the middle'];

/**
 * Objects of a backup that are damaged in the target, one of each backup, and put back afterwards: what a list, a
 * verification, a restore and the next backup come to. Nothing of that is anything to the collection itself.
 */
export class DamagedTarget {
  private readonly folder = mkdtempSync(join(tmpdir(), 'quiver-matrix-'));
  private readonly target = join(this.folder, 'target');
  private readonly model: CollectionModel;
  /** As the collection was when the backup was taken. */
  private first!: CollectionModel;
  private service!: EmbeddedProcess | ClusterProcesses;
  private call!: Call;
  private backup = '';
  private shard!: ShardManifest & { key: string };
  private count = 0;

  private constructor(private readonly seed: number) {
    this.model = new CollectionModel('things', seed);
  }

  static async make({ seed, form }: { seed: number; form: ServiceForm }): Promise<DamagedTarget> {
    const made = new DamagedTarget(seed);
    const environment = { BACKUP_TARGET: `file:${made.target}` };
    try {
      if (form === 'embedded') {
        const service = new EmbeddedProcess({ environment });
        made.service = service;
        await service.start();
        made.call = callOf(service);
      } else {
        const cluster = await ClusterProcesses.start({ nodes: 2, coordinators: 1, environment });
        made.service = cluster;
        made.call = callOf({ baseUrl: cluster.baseUrl(0), apiKey: API_KEY });
      }
      await made.model.make(made.call, { shards: 1, ...(form === 'cluster' && { replicas: 2 }) });
      const refusal = await made.model.load(made.call, ITEMS);
      if (refusal !== null) throw new Error(`no write before: ${refusal}`);
      // By a stop, there is a checkpoint of the indexes, which a backup takes along.
      await made.restart();
    } catch (error) {
      await made.destroy();
      throw error;
    }
    return made;
  }

  async destroy(): Promise<void> {
    await this.service?.destroy();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async cellsOf(row: TargetRow): Promise<Cell[]> {
    const cells: Cell[] = [];
    for (const form of FORMS_HERE) {
      for (const moment of TARGET_MOMENTS) {
        const seen = await this.damaged(row, form, moment).catch(
          (error: Error) => `broken off: ${error.message.slice(0, 1500)}`,
        );
        cells.push({
          place: 'target',
          kind: row.kind,
          fault: damageOf(form),
          form,
          moment,
          expected: row.right[damageOf(form)][moment],
          seen,
        });
      }
    }
    return cells;
  }

  private async damaged(row: TargetRow, form: Form, moment: TargetMoment): Promise<string> {
    await this.prepare();
    const key = row.object(this.backup, this.shard);
    if (key === undefined) return `there is no ${row.kind}`;
    const path = join(this.target, key);
    const copy = join(this.folder, 'copy');
    copyFileSync(path, copy);
    damage(path, form);
    try {
      const seen = await this.at(moment);
      const beside = await this.beside();
      return beside ?? seen;
    } finally {
      copyFileSync(copy, path);
    }
  }

  private async restart(): Promise<void> {
    const { service } = this;
    for (const part of service instanceof EmbeddedProcess ? [service] : service.nodes) {
      await part.stop();
      await part.start();
    }
    if (service instanceof ClusterProcesses) await service.settled();
  }

  /** A backup that is whole, and verified. */
  private async prepare(): Promise<void> {
    const refusal = await this.model.change(this.call, 5);
    if (refusal !== null) throw new Error(`no write before: ${refusal}`);
    this.backup = await this.taken();
    this.first = this.model.copy(this.seed);
    const damaged = await this.verified();
    if (damaged.length > 0) throw new Error(`damaged before: ${damaged.join()}`);
    const [path] = filesLike(this.target, new RegExp(`^data/${this.backup}/.+/shard\\.json$`));
    const key = relative(this.target, path);
    this.shard = { key, ...contentOf(SHARD_MANIFEST, key, readFileSync(path)) };
  }

  private async at(moment: TargetMoment): Promise<string> {
    const { call, backup } = this;
    if (moment === 'list') {
      const { data, error } = await call('GET', '/v1/admin/backups');
      if (error !== null) return `no list: ${error.message}`;
      const found = data.backups.find(({ id }: { id: string }) => id === backup);
      return found?.state === 'done'
        ? 'served'
        : found === undefined || (found.state === 'unreadable' && found.error !== null)
          ? 'told'
          : JSON.stringify(found);
    }
    if (moment === 'verify') {
      const damaged = await this.verified();
      return damaged.length === 0 ? 'served' : 'told';
    }
    if (moment === 'restore') return this.restored(backup);
    // The one before was verified, so what is damaged of it is known.
    if (moment === 'backup after a verification') await this.verified();
    const refusal = await this.model.change(call, 5);
    if (refusal !== null) return `no write: ${refusal}`;
    return this.restored(await this.taken());
  }

  /**
   * What the verification of the backup finds, or why there is none, by name. Throws where it does not end, or has
   * another answer.
   */
  private async verified(): Promise<string[]> {
    const { call, backup } = this;
    const path = `/v1/admin/backups/${backup}`;
    const begun = await call('POST', `${path}/verify`);
    if (begun.error !== null) {
      if (!begun.error.message.includes(backup))
        throw new Error(`no verification, without a name: ${begun.error.message}`);
      return [begun.error.message];
    }
    const ended = await over(async () => {
      const { data, ...rest } = await call('GET', path);
      return { ...rest, data: data?.verification ?? null };
    });
    if (ended === null) throw new Error('the verification does not end');
    return ended.damaged;
  }

  /** Takes a backup, and answers its id. Throws where it is not complete. */
  private async taken(): Promise<string> {
    const begun = await this.call('POST', '/v1/admin/backups', { collections: [this.model.name] });
    if (begun.error !== null) throw new Error(`no backup: ${begun.error.message}`);
    const ended = await over(() => this.call('GET', `/v1/admin/backups/${begun.data.id}`));
    if (ended?.state !== 'done' || ended.left_out.length > 0) throw new Error(`no backup: ${JSON.stringify(ended)}`);
    return begun.data.id;
  }

  /**
   * `served`: everything is there, as it is in the collection now. `told`: it is refused or fails, says why, and leaves
   * nothing.
   */
  private async restored(backup: string): Promise<string> {
    const { call, model } = this;
    const name = `${model.name}-${this.count++}`;
    const begun = await call('POST', '/v1/admin/restore', { backup, rename: { [model.name]: name } });
    if (begun.error !== null)
      return begun.error.message.includes(backup) ? 'told' : `refused without a name: ${begun.error.message}`;
    const ended = await over(() => call('GET', `/v1/admin/restores/${begun.data.id}`));
    const isThere = (await call('GET', `/v1/collections/${name}`)).error === null;
    if (ended?.state === 'failed') {
      if (isThere) return 'the restore failed and left the collection';
      return /damaged|missing|there is no|can not be (read|used)/.test(ended.error)
        ? 'told'
        : `failed without a reason: ${ended.error}`;
    }
    if (ended?.state !== 'done') return `the restore does not end: ${JSON.stringify(ended)}`;
    try {
      const taken = backup === this.backup ? this.first : model;
      const { wrong, refused } = await taken.copy(this.seed, name).read(call);
      return wrong.length + refused.length === 0
        ? 'served'
        : `the restored collection is wrong: ${[...wrong, ...refused].join('; ')}`;
    } finally {
      await call('DELETE', `/v1/collections/${name}`);
    }
  }

  /** Null when the collection is used as ever. */
  private async beside(): Promise<string | null> {
    const refusal = await this.model.change(this.call, 2);
    const { wrong, refused } = await this.model.read(this.call);
    const all = [...wrong, ...refused, ...(refusal === null ? [] : [refusal])];
    return all.length === 0 ? null : `what is beside: ${all.join('; ')}`;
  }
}
