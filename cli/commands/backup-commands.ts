import { type Command, InvalidArgumentError } from 'commander';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import { type Connection, urlPath } from '../connection/connection';
import { count, printJson, size } from '../terminal/print';
import { showProgress } from '../terminal/progress';
import { table } from '../terminal/table';
import { type ConnectionOptions, connect, connected, names, wholeNumber } from './connected-command';
import { untilOver } from './until-over';

interface BackupOptions extends ConnectionOptions {
  target?: string;
  wait: boolean;
  json?: true;
}

interface RestoreOptions extends BackupOptions {
  until?: string;
  rename?: Record<string, string>;
  shards?: number;
  replicas?: number;
  keys?: true;
  unsealed?: true;
}

/** What backups and restores have in common. */
interface LongWork {
  id: string;
  state: string;
  error: string | null;
  progress: number;
}

interface Restorable {
  name: string;
  deleted_at: string | null;
  from: string | null;
  until: string | null;
  shards: { gaps: number; error: string | null }[];
}

interface Backup extends LongWork {
  started_at: string | null;
  items: number;
  total_bytes: number;
  collections: { name: string }[];
  verification: { state: string; damaged: string[] } | null;
  /** Services before this version say neither. */
  sealed?: boolean | null;
  warnings?: string[];
  left_out?: { name: string }[];
}

const PARTS = 1000;
/** States in which there is something to wait for. */
const UNDER_WAY = ['running', 'cancelling', 'deleting'];

/** Backups and restores (admin), which the service makes by itself: these begin them, and wait. */
export function addBackupCommands(program: Command, context: CommandContext): void {
  const backup = program.command('backup').description('backups: list, create, verify, delete');
  const targeted = (command: Command): Command =>
    connected(command)
      .option('--target <address>', 'where backups are; otherwise as the service is set')
      .option('--json', 'print JSON');

  targeted(backup.command('list', { isDefault: true }).description('list the backups, the newest first')).action(
    async (options: BackupOptions) => {
      const { backups } = await connect(context, options).call<{ backups: Backup[] }>('GET', '/v1/admin/backups', {
        query: targetOf(options),
      });
      if (options.json) return printJson(context, backups);
      context.output.write(
        table(
          ['id', 'state', 'sealed', 'started', 'items', 'size', 'collections', 'left out'],
          backups.map((one) => [
            one.id,
            one.state,
            sealOf(one),
            one.started_at,
            one.items,
            size(one.total_bytes),
            one.collections.map(({ name }) => name).join(', '),
            (one.left_out ?? []).map(({ name }) => name).join(', '),
          ]),
        ),
      );
    },
  );
  targeted(backup.command('moments').description('from when to when collections can be restored to any moment')).action(
    async (options: BackupOptions) => {
      const { restorable } = await connect(context, options).call<{ restorable: Restorable[] }>(
        'GET',
        '/v1/admin/backups',
        { query: targetOf(options) },
      );
      if (options.json) return printJson(context, restorable);
      context.output.write(
        table(
          ['collection', 'from', 'until', 'deleted', 'error'],
          restorable.map((one) => [
            one.name,
            one.from,
            one.until,
            one.deleted_at,
            one.shards.find(({ error }) => error !== null)?.error ?? null,
          ]),
        ),
      );
    },
  );
  targeted(
    backup
      .command('create')
      .description('back up the collections named, or all, and wait until it is done')
      .argument('[collections...]'),
  )
    .option('--no-wait', 'only begin it')
    .action(async (collections: string[], options: BackupOptions) => {
      const connection = connect(context, options);
      const begun = await connection.call<Backup>('POST', '/v1/admin/backups', {
        body: { ...(collections.length > 0 ? { collections } : {}), ...targetOf(options) },
      });
      const made = await waitFor(context, connection, begun, options, ['backups', 'backup']);
      if (options.json) printJson(context, made);
      else
        context.messages.write(
          made.state === 'running'
            ? 'it goes on by itself\n'
            : `${count(made.items)} items, ${size(made.total_bytes)}\n`,
        );
      if (!options.json) context.output.write(`${made.id}\n`);
      if ((made.warnings ?? []).length > 0)
        throw new CommandError(
          `backup ${made.id} lacks collections:\n${(made.warnings ?? []).join('\n')}`,
          EXIT_CODES.failed,
        );
    });
  targeted(
    backup
      .command('verify')
      .description('read every object of a backup and compare it with its checksum')
      .argument('<id>'),
  ).action(async (id: string, options: BackupOptions) => {
    const connection = connect(context, options);
    const query = targetOf(options);
    const path = urlPath('v1', 'admin', 'backups', id);
    const found = await untilOver(context, await connection.call<Backup>('POST', `${path}/verify`, { query }), {
      isOver: ({ verification }) => verification?.state !== 'running',
      look: () => connection.call<Backup>('GET', path, { query }),
    });
    if (options.json) printJson(context, found);
    const damaged = found.verification?.damaged ?? [];
    if (damaged.length > 0) throw new CommandError(`damaged or missing: ${damaged.join(', ')}`);
    context.messages.write(`backup ${id} is whole\n`);
  });
  targeted(
    backup.command('delete').description('delete a backup, or give one up that is under way').argument('<id>'),
  ).action(async (id: string, options: BackupOptions) => {
    const deleted = await connect(context, options).call<Backup>('DELETE', urlPath('v1', 'admin', 'backups', id), {
      query: targetOf(options),
    });
    if (options.json) return printJson(context, deleted);
    context.messages.write(`backup ${id}: ${deleted.state}\n`);
  });

  targeted(
    program
      .command('restore')
      .description('restore collections of a backup, or of a moment, and wait until they serve')
      .argument('[backup]', 'with --until: "-" or none for the newest that leads there')
      .argument('[collections...]', 'otherwise all of it'),
  )
    .option('--until <time>', 'what was acknowledged by then, as "2026-07-01T12:00:00Z"', moment)
    .option(
      '--rename <names>',
      'names that are free, or of empty collections: "colours=colours-before", separated by commas',
      renames,
    )
    .option('--shards <count>', 'another number of shards', wholeNumber(1, 256))
    .option('--replicas <count>', 'another number of copies of each shard', wholeNumber(1, 5))
    .option('--keys', 'restore the API keys, too')
    .option('--unsealed', 'take on trust keys and logs that the service has not sealed')
    .option('--no-wait', 'only begin it')
    .action(async (given: string | undefined, collections: string[], options: RestoreOptions) => {
      const { rename, shards, replicas, keys, unsealed, until } = options;
      const backupId = given === '-' ? undefined : given;
      if (backupId === undefined && until === undefined)
        throw new CommandError('name a backup, or a moment with --until', EXIT_CODES.usage);
      const connection = connect(context, options);
      const body = {
        backup: backupId,
        until,
        ...targetOf(options),
        ...(collections.length > 0 ? { collections } : {}),
        rename,
        shards,
        replicas,
        keys,
        unsealed,
      };
      const begun = await connection.call<LongWork & { collections: { name: string }[]; warnings?: string[] }>(
        'POST',
        '/v1/admin/restore',
        { body },
      );
      const done = await waitFor(context, connection, begun, options, ['restores', 'restore']);
      if (options.json) return printJson(context, done);
      // Services before this version give none.
      for (const warning of done.warnings ?? []) context.messages.write(`${warning}\n`);
      context.messages.write(
        done.state === 'done'
          ? `restored: ${done.collections.map(({ name }) => name).join(', ')}\n`
          : `restore ${done.id} goes on by itself\n`,
      );
    });
}

function sealOf({ sealed = null }: Backup): string | null {
  return sealed === null ? null : sealed ? 'yes' : 'no';
}

function targetOf({ target }: BackupOptions): { target: string } | undefined {
  return target === undefined ? undefined : { target };
}

async function waitFor<Work extends LongWork>(
  context: CommandContext,
  connection: Connection,
  begun: Work,
  options: BackupOptions,
  [path, label]: [string, string],
): Promise<Work> {
  if (!options.wait) return begun;
  const progress = showProgress(context, { label, unit: '‰', isQuiet: false });
  const query = path === 'backups' ? targetOf(options) : undefined;
  const work = await untilOver(context, begun, {
    isOver: ({ state }) => !UNDER_WAY.includes(state),
    look: () => connection.call<Work>('GET', urlPath('v1', 'admin', path, begun.id), { query }),
    onLook: (seen) => progress.report(seen.progress, Math.round(seen.progress * PARTS)),
  }).finally(() => progress.stop());
  if (work.state !== 'done')
    throw new CommandError(
      `${label} ${work.id} ${work.state}${work.error === null ? '' : `: ${work.error}`}`,
      EXIT_CODES.failed,
    );
  return work;
}

function moment(text: string): string {
  const ms = Date.parse(text);
  if (!/^\d{4}-\d\d-\d\dT/.test(text) || Number.isNaN(ms))
    throw new InvalidArgumentError(`"${text}" is no time as "2026-07-01T12:00:00Z".`);
  return new Date(ms).toISOString();
}

function renames(text: string): Record<string, string> {
  return Object.fromEntries(
    names(text).map((pair): [string, string] => {
      const [from, to, ...rest] = pair.split('=');
      if (!from || !to || rest.length > 0) throw new InvalidArgumentError(`"${pair}" is not "old=new".`);
      return [from, to];
    }),
  );
}
