import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { validate } from 'dockerfile-utils';
import { CLUSTER_SETTINGS, NODE_FALLBACKS, SETTINGS } from '../../shared/base/config/settings';

/** The Dockerfile as a text: what can be said of it without building it. `npm run test:image` builds and runs it. */

const root = resolve(__dirname, '../..');
const text = readFileSync(join(root, 'Dockerfile'), 'utf8');
const ignored = readFileSync(join(root, '.dockerignore'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string;
  engines: { node: string };
};

/** The instructions in order, continued lines joined. */
const instructions = text
  .replace(/^#.*\n/gm, '')
  .replace(/\\\n\s*/g, ' ')
  .split('\n')
  .filter((line) => line.trim() !== '')
  .map((line) => ({ word: line.split(' ', 1)[0], rest: line.slice(line.indexOf(' ') + 1) }));

function restsOf(word: string): string[] {
  return instructions.filter((instruction) => instruction.word === word).map(({ rest }) => rest);
}

const args = Object.fromEntries(restsOf('ARG').map((rest) => rest.split('=', 2)));

describe('the Dockerfile', () => {
  test('has nothing that its linter complains of', () => {
    expect(
      validate(text).map(({ message, range }) => `line ${range.start.line + 1}: ${JSON.stringify(message)}`),
    ).toEqual([]);
    expect(validate('FROM debian\nRUM make\n')).not.toEqual([]);
  });

  test('has two stages on one Debian release, pinned to a version of Node that is supported', () => {
    // oxlint-disable-next-line no-template-curly-in-string -- Docker's variables
    expect(restsOf('FROM')).toEqual(['${NODE_IMAGE} AS build', '${DEBIAN_IMAGE}']);
    const [, node, release] = /node:(\d+\.\d+\.\d+)-(\w+)-slim$/.exec(args.NODE_IMAGE) ?? [];
    expect(args.DEBIAN_IMAGE).toMatch(new RegExp(`/debian:${release}-slim$`));
    const majors = manifest.engines.node.split(' || ').map((range) => /^\^(\d+)\./.exec(range)?.[1]);
    expect(majors).toContain(node.split('.')[0]);
  });

  test('ends as a user without rights, with an entry point, a health check and labels', () => {
    const user = restsOf('USER');
    expect(user).toEqual(['10001:10001']);
    expect(restsOf('ENTRYPOINT')).toEqual(['["tini", "--", "quiver"]']);
    expect(restsOf('HEALTHCHECK')[0]).toMatch(/ CMD \["node", "\/opt\/quiver\/scripts\/healthcheck\.cjs", "livez"\]$/);
    for (const label of ['title', 'description', 'licenses', 'version', 'revision'])
      expect(text).toContain(`org.opencontainers.image.${label}="`);
    expect(args.VERSION).toBe(manifest.version);
  });

  test('names the ports that the settings have by default', () => {
    const ports = [
      SETTINGS.port.fallback,
      CLUSTER_SETTINGS.rpcPort.fallback,
      SETTINGS.opsPort.fallback,
      NODE_FALLBACKS.OPS_PORT,
    ];
    expect(restsOf('EXPOSE')).toEqual([ports.join(' ')]);
  });

  test('copies what is there, what the context lets through, and every folder of sources', () => {
    const copied = restsOf('COPY')
      .filter((rest) => !rest.startsWith('--from'))
      .flatMap((rest) =>
        rest
          .split(' ')
          .slice(0, -1)
          .map((path) => path.replace(/\/$/, '')),
      );
    expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    expect(ignored[0]).toBe('*');
    expect([...copied].sort()).toEqual(ignored.flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : [])).sort());
    const { include } = JSON.parse(readFileSync(join(root, 'tsconfig.build.json'), 'utf8')) as { include: string[] };
    for (const pattern of include) expect(copied).toContain(pattern.slice(0, pattern.indexOf('/**')));
  });

  test('builds nothing for the processor it is built on', () => {
    expect(readFileSync(join(root, 'scripts/make/build-native.mjs'), 'utf8')).not.toMatch(/-m(?:arch|tune|cpu)=native/);
    expect(text).not.toMatch(/native/);
  });
});
