import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import {
  missingModules,
  PYTHON_PACKAGES,
  type PythonPackage,
  reasonToSkip,
  runPython,
} from '../support/machines/python-packages';
import { freePorts } from '../support/servers/free-ports';

/**
 * The Python packages' own tests, against a real process, and their types and rules, with what Python has at hand.
 * Nothing is installed here: `npm run test:python` makes an environment that has it all.
 */

const TESTS_MS = 840_000;
const CHECK_MS = 840_000;
const PYTEST = ['-m', 'pytest', '-p', 'no:cacheprovider', '--no-header'];
const CHECKS: [name: string, module: string, words: string[]][] = [
  ['its types hold (mypy, strict)', 'mypy', ['-m', 'mypy', '--cache-dir', '/dev/null']],
  ['it keeps the rules (ruff)', 'ruff', ['-m', 'ruff', 'check', '--no-cache', '.']],
  ['it has its format (ruff)', 'ruff', ['-m', 'ruff', 'format', '--no-cache', '--check', '.']],
];

const able = PYTHON_PACKAGES.filter((one) => reasonToSkip(one) === null);

function story(pythonPackage: PythonPackage, environment: Record<string, string>): void {
  const reason = reasonToSkip(pythonPackage);
  const whereAble = reason === null ? test : test.skip;
  whereAble(`its tests pass${reason === null ? '' : ` (skipped: ${reason})`}`, () => {
    const { status, output } = runPython(pythonPackage, PYTEST, { environment, timeoutMs: TESTS_MS });
    expect(status === 0 ? '' : output).toBe('');
    expect(output).toMatch(/\d+ passed/);
  });
  for (const [name, module, words] of reason === null ? CHECKS : []) {
    const whereInstalled = missingModules([module])?.length === 0 ? test : test.skip;
    whereInstalled(name, () => {
      const { status, output } = runPython(pythonPackage, words, { timeoutMs: CHECK_MS });
      expect(status === 0 ? '' : output).toBe('');
    });
  }
}

describe('the Python packages', () => {
  const backups = mkdtempSync(join(tmpdir(), 'quiver-python-backups-'));
  let server: EmbeddedProcess | null = null;
  const environment: Record<string, string> = {};
  beforeAll(async () => {
    if (able.length === 0) return;
    // A language model is what a test listens with there.
    const [llm] = await freePorts(1);
    server = new EmbeddedProcess({
      environment: {
        BACKUP_TARGET: `file:${backups}`,
        LLM_BASE_URL: `http://127.0.0.1:${llm}/v1`,
        LLM_MODELS: 'small',
      },
    });
    await server.start();
    Object.assign(environment, {
      QUIVER_URL: server.baseUrl,
      QUIVER_API_KEY: server.apiKey,
      QUIVER_TEST_LLM_PORT: String(llm),
    });
  });
  afterAll(async () => {
    await server?.destroy();
    rmSync(backups, { recursive: true, force: true });
  });

  for (const pythonPackage of PYTHON_PACKAGES) {
    describe(`in ${pythonPackage.folder}`, () => {
      story(pythonPackage, environment);
    });
  }
});
