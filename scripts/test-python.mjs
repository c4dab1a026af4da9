// `npm run test:python`: the Python packages in `clients`, with all that they need, from PyPI.
//
// Makes an environment in .setup/python, runs the tests, types and rules of each package there (as `npm test` does
// where Python has what they need), builds sdists and wheels, installs the wheels in an empty environment each, and
// runs there the first example of each README. PYTHON names the interpreter (3.10 or later; default: python3).
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, setUpOrExit } from './setup.mjs';

const PACKAGES = ['python', 'python-langchain', 'python-llama-index', 'python-haystack'].map((folder) =>
  join(ROOT, 'clients', folder),
);
const ENVIRONMENT = join(ROOT, '.setup/python');
const python = join(ENVIRONMENT, 'bin/python');

await setUpOrExit();
run(process.env.PYTHON ?? 'python3', ['-m', 'venv', ENVIRONMENT]);
run(python, [
  '-m',
  'pip',
  'install',
  '--quiet',
  '--upgrade',
  'pip',
  'trio',
  ...PACKAGES.flatMap((folder) => ['--editable', `${folder}[dev]`]),
]);

run(
  process.execPath,
  [
    join(ROOT, 'node_modules/jest/bin/jest.js'),
    '--config',
    join(ROOT, 'jest.config.js'),
    'test/integration/python-packages',
  ],
  { PYTHON: python },
);

const folder = mkdtempSync(join(tmpdir(), 'quiver-python-'));
try {
  const wheels = join(folder, 'wheels');
  for (const source of PACKAGES) run(python, ['-m', 'build', '--no-isolation', '--outdir', wheels, source]);
  console.log(readdirSync(wheels).join('\n'));
  for (const [i, source] of PACKAGES.entries()) {
    const empty = join(folder, `empty-${i}`);
    run(process.env.PYTHON ?? 'python3', ['-m', 'venv', empty]);
    // What they need of each other comes from here, by its file: these packages are in no registry. Everything
    // else is from the registry.
    const files = new Set([PACKAGES[0], source].map((of) => join(wheels, wheelOf(of, wheels))));
    run(join(empty, 'bin/python'), ['-m', 'pip', 'install', '--quiet', ...files]);
    const chosen = i === 0 ? 'first_example_finds' : `first_example_of_each and ${source.split('/').at(-1)}`;
    run(
      python,
      ['-m', 'pytest', join(PACKAGES[0], 'tests/test_readme.py'), '-p', 'no:cacheprovider', '-k', chosen, '-rs'],
      { README_PYTHON: join(empty, 'bin/python'), README_MUST_RUN: '1' },
      PACKAGES[0],
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** @param {string} source @param {string} wheels @returns {string} */
function wheelOf(source, wheels) {
  const start = `${projectName(source).replaceAll('-', '_')}-`;
  const wheel = readdirSync(wheels).find((name) => name.endsWith('.whl') && name.startsWith(start));
  if (wheel === undefined) throw new Error(`no wheel of ${source} was built`);
  return wheel;
}

/** @param {string} source @returns {string} */
function projectName(source) {
  const names = {
    python: 'quiver-vector-client',
    'python-langchain': 'langchain-quiver',
    'python-llama-index': 'llama-index-vector-stores-quiver',
    'python-haystack': 'quiver-haystack',
  };
  return names[/** @type {keyof typeof names} */ (source.split('/').at(-1))];
}

/**
 * Runs a command to its end, and ends with it when it fails.
 *
 * @param {string} command
 * @param {string[]} words
 * @param {Record<string, string>} [environment]
 * @param {string} [cwd]
 */
function run(command, words, environment = {}, cwd = ROOT) {
  const { status } = spawnSync(command, words, { cwd, stdio: 'inherit', env: { ...process.env, ...environment } });
  if (status !== 0) {
    console.error(`failed: ${command} ${words.join(' ')}`);
    process.exit(status ?? 1);
  }
}
