import type { Command } from 'commander';

/**
 * What `quiver` runs besides the commands of this room, for help and completion. scripts/quiver.cjs runs them before
 * this room is loaded, so that the start of a service doesn't grow.
 */
const ROLES: [usage: string, description: string][] = [
  ['serve <folder>', 'run the service in one process, with the data of a folder'],
  ['embedded', 'run the service in one process; the environment configures it (docs/configuration.md)'],
  ['coordinator', 'run a coordinator of a cluster'],
  ['node', 'run a storage node of a cluster'],
  ['check-config [role]', 'print the settings that a role would run with'],
  ['etcd-users', 'switch on etcd’s authentication'],
  [
    'repair [option]',
    'say what of the data folder of a stopped service is gone, and accept a loss (docs/operations.md)',
  ],
];

export function addRoles(program: Command): void {
  for (const [usage, description] of ROLES) program.command(usage).description(description).helpGroup('Run a service:');
}
