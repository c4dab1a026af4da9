// Finds Helm for the chart's tests, or builds it from its Go module if Go is installed: about two minutes on two cores,
// once; the result is kept under .setup. Without either, the tests that need it report that and are skipped.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** The version that renders the golden manifests. */
const VERSION = 'v3.22.0';
const HELM = join(ROOT, '.setup', 'helm', VERSION, 'helm');

/**
 * Returns nothing: callers look for the file, and report it if it is missing.
 * @param {{ log?: (line: string) => void }} [options]
 */
export function ensureHelm({ log = (line) => console.log(`setup: ${line}`) } = {}) {
  if (existsSync(HELM)) return;
  if (spawnSync('go', ['version'], { stdio: 'ignore' }).status !== 0) {
    log('no Go here to build Helm: tests that render the chart will be skipped');
    return;
  }
  log(`building Helm ${VERSION} from its Go module (takes some minutes, once)`);
  mkdirSync(dirname(dirname(HELM)), { recursive: true });
  const folder = mkdtempSync(join(dirname(dirname(HELM)), 'build-'));
  try {
    const words = ['install', '-trimpath', '-ldflags=-s -w', `helm.sh/helm/v3/cmd/helm@${VERSION}`];
    const { status, stderr } = spawnSync('go', words, {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, GOBIN: folder, GOFLAGS: '-mod=mod' },
    });
    if (status !== 0) {
      log(`Helm could not be built: ${stderr.trim().split('\n').at(-1)}`);
      return;
    }
    mkdirSync(dirname(HELM), { recursive: true });
    renameSync(join(folder, 'helm'), HELM);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] && fileURLToPath(import.meta.url) === process.argv[1]) ensureHelm();
