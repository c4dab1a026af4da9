import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './chart-files';

/** The oldest and the newest Kubernetes that the chart is rendered for. */
export const KUBERNETES_VERSIONS = ['1.27.0', '1.36.0'] as const;

/** Where scripts/helm.mjs leaves the Helm that it builds; null where it built none. */
export const HELM: string | null = (() => {
  const folder = join(ROOT, '.setup', 'helm');
  const versions = existsSync(folder) ? readdirSync(folder) : [];
  return versions.map((version) => join(folder, version, 'helm')).find(existsSync) ?? null;
})();

/** For tests that render: `test`, or where there is no Helm `test.skip` under a name that says why. */
export function testWithHelm(name: string, run: (() => void) | (() => Promise<void>)): void {
  if (HELM !== null) test(name, run);
  else test.skip(`${name} (skipped: no Helm; it is built by npm test where Go is installed)`, run);
}

const ENVIRONMENT = { PATH: process.env.PATH, HOME: '/nonexistent' };

export interface HelmResult {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Runs Helm; what it reads and writes of its own goes nowhere near the user's. */
export function helm(...words: string[]): HelmResult {
  const { status, stdout, stderr } = spawnSync(mustHaveHelm(), words, {
    encoding: 'utf8',
    env: ENVIRONMENT,
    maxBuffer: 16 * 1024 * 1024,
  });
  return { status, stdout, stderr };
}

/** The same while this process goes on, to answer it as the cluster of `kubeconfig`. */
export async function helmWithCluster(kubeconfig: string, ...words: string[]): Promise<HelmResult> {
  const child = spawn(mustHaveHelm(), ['--kubeconfig', kubeconfig, ...words], {
    env: ENVIRONMENT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const result = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (result.stdout += chunk));
  child.stderr.on('data', (chunk) => (result.stderr += chunk));
  const status = await new Promise<number | null>((done) => child.on('close', done));
  return { status, ...result };
}

function mustHaveHelm(): string {
  if (HELM === null) throw new Error('there is no Helm');
  return HELM;
}
