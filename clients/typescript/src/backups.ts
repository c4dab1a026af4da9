import type { BackupTarget, NewBackup, NewRestore } from './api';
import type { Backup, RestorableCollection, Restore } from './generated/api-types';
import type { ApiRequest, CallOptions } from './request';
import type { Transport } from './transport';

/** Backups and restores (admin). They go on by themselves: `get` and `restoreState` say how far they are. */
export class BackupsApi {
  constructor(private readonly transport: Transport) {}

  /** Begins a backup of all collections, or of those named. Every write that was acknowledged before is in it. */
  async create(backup: NewBackup = {}, options?: CallOptions): Promise<Backup> {
    return this.send({ method: 'POST', path: 'backups', json: backup }, options);
  }

  /** All backups, the newest first. */
  async list(where: BackupTarget = {}, options?: CallOptions): Promise<Backup[]> {
    return (await this.send<{ backups: Backup[] }>({ method: 'GET', path: 'backups', query: { ...where } }, options))
      .backups;
  }

  /** From when to when collections can be restored to any moment, where logs are shipped. */
  async restorable(where: BackupTarget = {}, options?: CallOptions): Promise<RestorableCollection[]> {
    return (
      await this.send<{ restorable: RestorableCollection[] }>(
        { method: 'GET', path: 'backups', query: { ...where } },
        options,
      )
    ).restorable;
  }

  /** How far a backup is, and what is in it. */
  async get(id: string, where: BackupTarget = {}, options?: CallOptions): Promise<Backup> {
    return this.send({ method: 'GET', path: `backups/${encodeURIComponent(id)}`, query: { ...where } }, options);
  }

  /** Deletes a backup, or gives one up that is under way. What other backups need of it stays. */
  async delete(id: string, where: BackupTarget = {}, options?: CallOptions): Promise<Backup> {
    return this.send({ method: 'DELETE', path: `backups/${encodeURIComponent(id)}`, query: { ...where } }, options);
  }

  /**
   * Begins to compare every object of a backup with its checksum; `verification` of {@link get} says what was found.
   */
  async verify(id: string, where: BackupTarget = {}, options?: CallOptions): Promise<Backup> {
    return this.send(
      { method: 'POST', path: `backups/${encodeURIComponent(id)}/verify`, query: { ...where }, isRepeatable: true },
      options,
    );
  }

  /**
   * Begins to restore collections into names that are free, or collections that are empty; `rename` gives others than
   * in the backup. `until`: to a moment.
   */
  async restore(restore: NewRestore, options?: CallOptions): Promise<Restore> {
    return this.send({ method: 'POST', path: 'restore', json: restore }, options);
  }

  /** All restores, the newest first. */
  async listRestores(options?: CallOptions): Promise<Restore[]> {
    return (await this.send<{ restores: Restore[] }>({ method: 'GET', path: 'restores' }, options)).restores;
  }

  /** How far a restore is. */
  async restoreState(id: string, options?: CallOptions): Promise<Restore> {
    return this.send({ method: 'GET', path: `restores/${encodeURIComponent(id)}` }, options);
  }

  /** Gives a restore up, unless it is too late (409), or forgets one that is over. */
  async cancelRestore(id: string, options?: CallOptions): Promise<Restore> {
    return this.send({ method: 'DELETE', path: `restores/${encodeURIComponent(id)}` }, options);
  }

  private async send<Answer>(request: ApiRequest, options?: CallOptions): Promise<Answer> {
    return this.transport.data({ ...request, path: `/v1/admin/${request.path}` }, options);
  }
}
