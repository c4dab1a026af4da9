import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

/**
 * A bare Debian root as a tar file, made by debootstrap from Debian's packages alone and kept for the next run. Like
 * the machine it is made on, it knows this machine's package sources and trusts its certificate authorities, so that
 * packages can be installed in it. Needs root.
 */
export function bareDebian(release: string): string {
  const folder = resolve(__dirname, '../../../.setup/bare');
  const file = join(folder, `debian-${release}-${process.arch}.tar`);
  if (existsSync(file)) return file;
  const root = join(folder, `root.${process.pid}`);
  mkdirSync(root, { recursive: true });
  try {
    const mirror = mirrorHere();
    run('debootstrap', [
      '--variant=minbase',
      '--include=ca-certificates,libstdc++6',
      release,
      root,
      ...(mirror === null ? [] : [mirror]),
    ]);
    if (existsSync(AUTHORITIES)) run('cp', ['--dereference', AUTHORITIES, join(root, AUTHORITIES)]);
    run('tar', ['--create', '--file', `${file}.next`, '--directory', root, '.']);
    renameSync(`${file}.next`, file);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
  return file;
}

/** The authorities that this machine trusts, where Debian keeps them. */
export const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';

/** Where this machine has its Debian packages from; null: debootstrap's own choice. */
function mirrorHere(): string | null {
  const files = [
    '/etc/apt/sources.list',
    ...listed('/etc/apt/sources.list.d').map((name) => join('/etc/apt/sources.list.d', name)),
  ];
  for (const file of files.filter((name) => existsSync(name))) {
    const found = /^(?:URIs:|deb)\s+(?:\[[^\]]*\]\s+)?(https?:\/\/\S+\/debian\/?)(?:\s|$)/m.exec(
      readFileSync(file, 'utf8'),
    );
    if (found) return found[1];
  }
  return null;
}

function listed(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

function run(command: string, words: string[]): void {
  execFileSync(command, words, { stdio: ['ignore', 'ignore', 'pipe'], maxBuffer: 64 * 1024 * 1024 });
}
