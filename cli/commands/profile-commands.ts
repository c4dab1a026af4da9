import type { Command } from 'commander';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import { checkProfileName, profilePath, readProfiles, writeProfiles } from '../connection/profile-file';
import { checkUrl } from '../connection/target';
import { table } from '../terminal/table';

/**
 * Services and their keys, kept in a file of the user's own. Keys come from the environment or standard input, never
 * from the command line, where others could see them.
 */
export function addProfileCommands(program: Command, context: CommandContext): void {
  const path = (): string => profilePath(context.environment);
  const profile = program
    .command('profile')
    .description('services with their keys, kept in a file that only you can read');
  profile
    .command('list', { isDefault: true })
    .description('list the profiles')
    .action(() => {
      const { current, byName } = readProfiles(path());
      context.output.write(
        table(
          ['', 'name', 'address', 'key'],
          [...byName].map(([name, { url, apiKey }]) => [
            name === current ? '*' : '',
            name,
            url,
            apiKey === null ? 'no' : 'yes',
          ]),
        ),
      );
    });
  profile
    .command('set')
    .description(
      'make or change a profile and use it; the key is taken from QUIVER_API_KEY, or with --key from standard input',
    )
    .argument('<name>')
    .requiredOption('--url <address>', 'address of the service')
    .option('--key', 'read the key from standard input')
    .action(async (name: string, options: { url: string; key?: true }) => {
      const profiles = readProfiles(path());
      const apiKey = options.key
        ? await line(context)
        : (context.environment.QUIVER_API_KEY ?? profiles.byName.get(name)?.apiKey ?? null);
      profiles.byName.set(checkProfileName(name), { url: checkUrl(options.url), apiKey: apiKey || null });
      writeProfiles(path(), { ...profiles, current: name });
      context.messages.write(`"${name}" is kept in ${path()}${apiKey ? '' : ', without a key'}\n`);
    });
  profile
    .command('use')
    .description('use a profile from now on')
    .argument('<name>')
    .action((name: string) => {
      const profiles = readProfiles(path());
      if (!profiles.byName.has(name)) throw new CommandError(`there is no profile "${name}"`, EXIT_CODES.usage);
      writeProfiles(path(), { ...profiles, current: name });
    });
  profile
    .command('remove')
    .description('forget a profile')
    .argument('<name>')
    .action((name: string) => {
      const profiles = readProfiles(path());
      if (!profiles.byName.delete(name)) throw new CommandError(`there is no profile "${name}"`, EXIT_CODES.usage);
      writeProfiles(path(), { ...profiles, current: profiles.current === name ? null : profiles.current });
    });
}

/** Longer than any key. */
const LINE_CHARACTERS_MAX = 4096;

async function line(context: CommandContext): Promise<string> {
  let text = '';
  for await (const piece of context.input) {
    text += String(piece);
    if (text.includes('\n') || text.length > LINE_CHARACTERS_MAX) break;
  }
  return text.split('\n')[0].trim();
}
