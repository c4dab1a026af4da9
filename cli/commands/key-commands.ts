import { type Command, Option } from 'commander';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import { count, printJson } from '../terminal/print';
import { table } from '../terminal/table';
import { type ConnectionOptions, connect, connected, wholeNumber } from './connected-command';
import { amountText, changesQuota, type KeyLimitOptions, limitsBody, limitsText, withKeyLimits } from './key-limits';

type KeyOptions = ConnectionOptions & { json?: true };

const id = wholeNumber(0, Number.MAX_SAFE_INTEGER);

/** API keys (admin). A secret is printed on standard output and nothing else is, so that a script can take it. */
export function addKeyCommands(program: Command, context: CommandContext): void {
  const keys = program
    .command('keys')
    .description('API keys: list, create, set, rotate, disable, enable, delete, usage');
  connected(keys.command('list', { isDefault: true }).description('list the keys'))
    .option('--json', 'print JSON')
    .action(async (options: KeyOptions) => {
      const all = await connect(context, options).client.keys.list();
      if (options.json) return printJson(context, all);
      context.output.write(
        table(
          ['id', 'name', 'role', 'active', 'expires', 'last used', 'limits'],
          all.map((key) => [
            key.id,
            key.name,
            key.role,
            key.is_active ? 'yes' : 'no',
            key.expires_at,
            key.last_used_at,
            limitsText(key),
          ]),
        ),
      );
    });
  const create = connected(
    keys.command('create').description('make a key; its secret is printed once').argument('<name>'),
  );
  withKeyLimits(
    create.addOption(
      new Option('--role <role>', 'what it may do').choices(['readonly', 'readwrite', 'admin']).default('readonly'),
    ),
    { isNew: true },
  )
    .option('--json', 'print JSON')
    .action(async (name: string, options: KeyOptions & KeyLimitOptions & { role: 'readonly' }) => {
      const { expires_in_days: days, ...limits } = limitsBody(options, null);
      const made = await connect(context, options).client.keys.create({
        name,
        role: options.role,
        expires_in_days: days ?? undefined,
        ...limits,
      });
      if (options.json) return printJson(context, made);
      context.messages.write(`key ${made.id} "${made.name}" (${made.role}); its secret, which is not shown again:\n`);
      context.output.write(`${made.key}\n`);
    });
  const set = connected(
    keys
      .command('set')
      .description('change what a key is called, may do, or is limited to; what is left out stays')
      .argument('<id>', 'its number', id),
  );
  withKeyLimits(
    set
      .option('--name <name>', 'what it is called')
      .addOption(new Option('--role <role>', 'what it may do').choices(['readonly', 'readwrite', 'admin'])),
    { isNew: false },
  )
    .option('--json', 'print JSON')
    .action(async (key: number, options: KeyOptions & KeyLimitOptions & { name?: string; role?: 'readonly' }) => {
      const { client } = connect(context, options);
      // A quota is changed as a whole.
      const present = changesQuota(options) && options.quota !== false ? await client.keys.get(key) : null;
      const { name, role } = options;
      const change = {
        ...(name === undefined ? {} : { name }),
        ...(role === undefined ? {} : { role }),
        ...limitsBody(options, present),
      };
      if (Object.keys(change).length === 0)
        throw new CommandError('nothing to change: see quiver help keys set', EXIT_CODES.usage);
      const changed = await client.keys.update(key, change);
      if (options.json) return printJson(context, changed);
      context.messages.write(
        `key ${changed.id} "${changed.name}" (${changed.role}): ${limitsText(changed) ?? 'no limits'}\n`,
      );
    });
  connected(
    keys
      .command('rotate')
      .description('give a key a new secret; the old one ends at once, or after --grace')
      .argument('<id>', 'its number', id),
  )
    .option('--grace <seconds>', 'how long the old secret works, too', wholeNumber(0, 2_592_000))
    .option('--json', 'print JSON')
    .action(async (key: number, options: KeyOptions & { grace?: number }) => {
      const made = await connect(context, options).client.keys.rotate(
        key,
        options.grace === undefined ? undefined : { grace_seconds: options.grace },
      );
      if (options.json) return printJson(context, made);
      context.messages.write(`key ${made.id} "${made.name}" has a new secret, which is not shown again:\n`);
      context.output.write(`${made.key}\n`);
    });
  for (const [verb, isActive] of [
    ['disable', false],
    ['enable', true],
  ] as const) {
    connected(
      keys
        .command(verb)
        .description(isActive ? 'let a disabled key work again' : 'refuse a key until it is enabled')
        .argument('<id>', 'its number', id),
    )
      .option('--json', 'print JSON')
      .action(async (key: number, options: KeyOptions) => {
        const changed = await connect(context, options).client.keys.update(key, { is_active: isActive });
        if (options.json) return printJson(context, changed);
        context.messages.write(`key ${changed.id} "${changed.name}" is ${changed.is_active ? 'active' : 'disabled'}\n`);
      });
  }
  connected(keys.command('delete').description('delete a key for good').argument('<id>', 'its number', id))
    .option('--json', 'print JSON')
    .action(async (key: number, options: KeyOptions) => {
      const deleted = await connect(context, options).client.keys.delete(key);
      if (options.json) return printJson(context, deleted);
      context.messages.write(`deleted key ${deleted.id} "${deleted.name}"\n`);
    });
  connected(
    keys.command('usage').description('requests made with a key, or with each').argument('[id]', 'its number', id),
  )
    .option('--json', 'print JSON')
    .action(async (key: number | undefined, options: KeyOptions) => {
      const { client } = connect(context, options);
      if (key === undefined) {
        const summary = await client.keys.usageSummary();
        if (options.json) return printJson(context, summary);
        const rows = [
          ...summary.by_key.map((one) => ({ ...one, name: one.key_name })),
          { ...summary.overall, name: 'all' },
        ];
        context.output.write(
          table(
            ['key', 'total', '24 h', '7 d', '30 d', 'last'],
            rows.map((one) => [
              one.name,
              one.total_requests,
              one.last_24h,
              one.last_7d,
              one.last_30d,
              one.last_request_at,
            ]),
          ),
        );
        return;
      }
      const usage = await client.keys.usage(key);
      if (options.json) return printJson(context, usage);
      context.output.write(
        table(
          ['endpoint', 'requests'],
          [...Object.entries(usage.by_endpoint).sort(([, a], [, b]) => b - a), ['all', usage.total_requests]],
        ),
      );
      context.messages.write(
        `${count(usage.last_24h)} in 24 hours, ${count(usage.last_7d)} in 7 days, ${count(usage.last_30d)} in 30 days\n`,
      );
      const { quota_used: used } = usage;
      if (used !== null)
        context.messages.write(
          `stored of its quota: ${amountText(used)}${used.resets_at === null ? '' : `, which counts anew at ${used.resets_at}`}\n`,
        );
    });
}
