import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

/** What an image says of itself, as far as tests look. */
export interface ImageConfig {
  User: string;
  Env: string[];
  Entrypoint: string[];
  Cmd: string[];
  ExposedPorts: Record<string, unknown>;
  Volumes: Record<string, unknown>;
  Labels: Record<string, string>;
}

/** What must be on the machine for containers to run without an engine beside them; answers what is missing. */
export function missingForContainers(): string[] {
  if (process.platform !== 'linux') return ['Linux'];
  return [
    ...(process.getuid?.() === 0 ? [] : ['root']),
    ...['debootstrap', 'podman', 'runc'].filter((name) => !isCommand(name)),
  ];
}

export function isCommand(name: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/**
 * Images and containers in a folder of their own, by podman and runc: nothing is pulled, and nothing of the machine's
 * other containers is seen or touched. Containers use the machine's network. `destroy` ends and removes them all.
 */
export class Containers {
  private readonly folder = mkdtempSync(join(tmpdir(), 'quiver-containers-'));

  /** `changes` are Dockerfile instructions such as `ENV a=b`. */
  importImage(tarFile: string, name: string, changes: string[] = []): void {
    this.podman(['import', ...changes.map((change) => `--change=${change}`), tarFile, name]);
  }

  /** Builds `folder` by its Dockerfile from images that are there. Rejects with the end of the build's output. */
  async build(folder: string, name: string): Promise<void> {
    const child = spawn(
      'podman',
      [...this.words(), 'build', '--isolation=chroot', '--pull-never', '--format=docker', `--tag=${name}`, folder],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    const code = await new Promise<number | null>((done) => child.once('close', done));
    if (code !== 0) throw new Error(`the build failed:\n${output.slice(-4000)}`);
  }

  imageConfig(name: string): ImageConfig {
    return JSON.parse(this.podman(['image', 'inspect', '--format={{json .Config}}', name])) as ImageConfig;
  }

  /** The words of the image's HEALTHCHECK, `CMD` first. */
  healthCheckOf(name: string): string[] {
    return (JSON.parse(this.podman(['image', 'inspect', '--format={{json .HealthCheck}}', name])) as { Test: string[] })
      .Test;
  }

  /**
   * As the chart runs it: a read-only root, no capabilities, no way to gain any, and the system-call filter by default.
   */
  start(
    name: string,
    image: string,
    options: { environment: Record<string, string>; volume: string; words?: string[] },
  ): void {
    const environment = Object.entries(options.environment).map(([key, value]) => `--env=${key}=${value}`);
    this.podman([
      'run',
      '--detach',
      `--name=${name}`,
      ...CONFINED,
      `--volume=${options.volume}:/data`,
      ...environment,
      image,
      ...(options.words ?? []),
    ]);
  }

  /** A container that ends by itself: its code and what it printed. */
  runToEnd(
    image: string,
    words: string[],
    environment: Record<string, string> = {},
    entrypoint?: string,
  ): { code: number; output: string } {
    const variables = Object.entries(environment).map(([key, value]) => `--env=${key}=${value}`);
    const result = this.call([
      'run',
      '--rm',
      ...CONFINED,
      ...variables,
      ...(entrypoint === undefined ? [] : [`--entrypoint=${entrypoint}`]),
      image,
      ...words,
    ]);
    return { code: result.status ?? -1, output: result.stdout + result.stderr };
  }

  exec(name: string, words: string[]): { code: number; output: string } {
    const result = this.call(['exec', name, ...words]);
    return { code: result.status ?? -1, output: result.stdout + result.stderr };
  }

  /** SIGTERM to the container's first process; answers the exit code, and 137 when it had to be killed after 30 s. */
  stop(name: string): number {
    this.podman(['stop', '--time=30', name]);
    return Number(this.podman(['container', 'inspect', '--format={{.State.ExitCode}}', name]));
  }

  remove(name: string): void {
    this.podman(['rm', '--force', name]);
  }

  logs(name: string): string {
    const { stdout, stderr } = this.call(['logs', name]);
    return stdout + stderr;
  }

  destroy(): void {
    for (const words of [
      ['rm', '--all', '--force', '--volumes'],
      ['rmi', '--all', '--force'],
    ])
      this.call(words);
    // The storage's own mounts are all that may be left.
    spawnSync('umount', ['--recursive', '--lazy', join(this.folder, 'storage', 'overlay')], { stdio: 'ignore' });
    rmSync(this.folder, { recursive: true, force: true });
  }

  private words(): string[] {
    return [
      `--root=${join(this.folder, 'storage')}`,
      `--runroot=${join(this.folder, 'run')}`,
      '--cgroup-manager=cgroupfs',
      '--events-backend=none',
      '--runtime=runc',
    ];
  }

  private podman(words: string[]): string {
    const result = this.call(words);
    if (result.status !== 0)
      throw new Error(`podman ${words.join(' ')} failed: ${result.error?.message ?? result.stderr}`);
    return result.stdout.trim();
  }

  private call(words: string[]): SpawnSyncReturns<string> {
    return spawnSync('podman', [...this.words(), ...words], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  }
}

/**
 * The engine's own timer for health checks needs systemd: tests run the check themselves. Limits are those of any
 * shell.
 */
const CONFINED = [
  '--network=host',
  '--read-only',
  '--cap-drop=all',
  '--security-opt=no-new-privileges',
  '--no-healthcheck',
  '--pull=never',
  '--ulimit=nofile=1024:4096',
  '--ulimit=nproc=4096:4096',
];
