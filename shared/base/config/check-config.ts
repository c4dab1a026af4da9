import { availableParallelism, hostname } from 'node:os';
import { isRole, ROLES } from './setting-readers';
import { describeSettings, settingsInForce } from './settings-in-force';

/**
 * `quiver check-config [role]` (default: embedded) prints the settings that a process of this role would take from this
 * environment, with secrets masked. Exits with 0; with 1 and one line on standard error if the process would refuse to
 * start; with 2 if there is no such role.
 */
function main(words: string[]): void {
  const [role = 'embedded', ...rest] = words;
  if (!isRole(role) || rest.length > 0) {
    process.stderr.write(`usage: quiver check-config [${ROLES.join(' | ')}]\n`);
    process.exitCode = 2;
    return;
  }
  try {
    const inForce = settingsInForce(role, process.env, { cores: availableParallelism(), hostName: hostname() });
    process.stdout.write(describeSettings(role, inForce));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}

main(process.argv.slice(3));
