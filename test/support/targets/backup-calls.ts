import { eventually } from '../eventually';

/** One call with the admin key, of which an error throws. */
export type AdminCall = <Data = any>(method: string, path: string, body?: unknown) => Promise<Data>;

/** Takes a backup and answers it once it is complete. `startedMs`: before the call. */
export async function takeBackup(
  call: AdminCall,
  body: { collections?: string[]; target?: string } = {},
): Promise<any> {
  const { id } = await call('POST', '/v1/admin/backups', body);
  return backupEnded(call, id, body);
}

/** A backup when it is over; throws when it failed. */
export async function backupEnded(call: AdminCall, id: string, { target }: { target?: string } = {}): Promise<any> {
  const path = `/v1/admin/backups/${id}${target === undefined ? '' : `?target=${encodeURIComponent(target)}`}`;
  let last: any = null;
  await eventually(`backup ${id} is over`, async () => {
    last = await call('GET', path);
    return last.state !== 'running' && last.state !== 'cancelling';
  });
  if (last.state !== 'done') throw new Error(`the backup is ${last.state}: ${last.error}`);
  return last;
}

/** Restores and answers the restore once it is over, however it ended. */
export async function restored(call: AdminCall, body: object): Promise<any> {
  const { id } = await call('POST', '/v1/admin/restore', body);
  let last: any = null;
  await eventually(`restore ${id} is over`, async () => {
    last = await call('GET', `/v1/admin/restores/${id}`);
    return last.state !== 'running' && last.state !== 'cancelling';
  });
  return last;
}
