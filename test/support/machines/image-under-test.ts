import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { AUTHORITIES, bareDebian } from './bare-debian';
import type { Containers } from './containers';

export const IMAGE = 'quiver-under-test';
const ROOT = resolve(__dirname, '../../..');

/** The default of one of the Dockerfile's arguments. */
export function dockerfileArgument(name: string): string {
  const found = new RegExp(`^ARG ${name}=(.+)$`, 'm').exec(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'));
  if (found === null) throw new Error(`the Dockerfile has no ARG ${name}`);
  return found[1];
}

/**
 * Builds the image by its Dockerfile. The base images are the one thing that is not as in production: nothing is
 * pulled. A bare Debian of the same release stands in for Debian's image, and the same with this very Node for Node's.
 */
export async function buildImage(containers: Containers): Promise<void> {
  const debianImage = dockerfileArgument('DEBIAN_IMAGE');
  const release = /:([a-z]+)-slim$/.exec(debianImage)?.[1];
  if (release === undefined) throw new Error(`no Debian release in ${debianImage}`);
  containers.importImage(bareDebian(release), debianImage);
  const context = nodeContext(debianImage);
  try {
    await containers.build(context, dockerfileArgument('NODE_IMAGE'));
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
  await containers.build(ROOT, IMAGE);
}

/** This Node, its headers and npm, laid out as in Node's image. */
function nodeContext(debianImage: string): string {
  const context = mkdtempSync(join(tmpdir(), 'quiver-node-image-'));
  const prefix = dirname(dirname(process.execPath));
  for (const part of ['bin/node', 'include/node', 'lib/node_modules/npm']) {
    if (!existsSync(join(prefix, part))) continue;
    mkdirSync(dirname(join(context, 'local', part)), { recursive: true });
    cpSync(join(prefix, part), join(context, 'local', part), { recursive: true });
  }
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(context, 'local/bin/npm'));
  if (existsSync(AUTHORITIES)) cpSync(AUTHORITIES, join(context, 'local/share/authorities.crt'), { dereference: true });
  const registry = execFileSync('npm', ['config', 'get', 'registry'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
  const variables = [
    `npm_config_registry=${registry}`,
    ...(existsSync(AUTHORITIES) ? ['NODE_EXTRA_CA_CERTS=/usr/local/share/authorities.crt'] : []),
  ];
  writeFileSync(
    join(context, 'Dockerfile'),
    `FROM ${debianImage}\nCOPY local/ /usr/local/\nENV ${variables.join(' ')}\n`,
  );
  return context;
}
