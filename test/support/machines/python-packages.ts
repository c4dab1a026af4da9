import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The Python packages in `clients`, and what this machine's Python can do with them. */

const root = resolve(__dirname, '../../..');
const CHECK_MS = 180_000;
/** Where the sources of all of them are, so that none need be installed. */
export const PYTHON_SOURCES = ['python/src', 'python-langchain', 'python-llama-index', 'python-haystack/src']
  .map((folder) => join(root, 'clients', folder))
  .join(':');

export interface PythonPackage {
  folder: string;
  /** What its tests import besides the package itself. */
  modules: string[];
}

export const PYTHON_PACKAGES: PythonPackage[] = [
  { folder: 'clients/python', modules: ['pytest', 'anyio', 'httpx', 'numpy'] },
  { folder: 'clients/python-langchain', modules: ['pytest', 'pytest_asyncio', 'httpx', 'langchain_tests'] },
  { folder: 'clients/python-llama-index', modules: ['pytest', 'httpx', 'llama_index.core'] },
  { folder: 'clients/python-haystack', modules: ['pytest', 'pytest_asyncio', 'httpx', 'haystack'] },
];

/** `PYTHON`, else the environment that `npm run test:python` makes, else what the path has. */
export function pythonProgram(): string {
  const own = join(root, '.setup/python/bin/python');
  return process.env.PYTHON ?? (existsSync(own) ? own : 'python3');
}

/** Which of the modules this Python lacks; null when there is no Python of 3.10 or later. */
export function missingModules(modules: string[]): string[] | null {
  const program = `
import importlib.util, sys
assert sys.version_info >= (3, 10)
def has(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False
print(*[name for name in sys.argv[1:] if not has(name)])`;
  const { status, stdout } = spawnSync(pythonProgram(), ['-c', program, ...modules], {
    encoding: 'utf8',
    timeout: CHECK_MS,
  });
  return status === 0 ? stdout.split(/\s+/).filter((name) => name !== '') : null;
}

/** Why the tests of a package can't run here; null when they can. */
export function reasonToSkip({ modules }: PythonPackage): string | null {
  const missing = missingModules(modules);
  if (missing === null) return 'no Python of 3.10 or later';
  return missing.length === 0 ? null : `Python has no ${missing.join(', ')}`;
}

/** A module of Python run in the folder of a package, with all packages at hand; answers all that it said. */
export function runPython(
  { folder }: Pick<PythonPackage, 'folder'>,
  words: string[],
  options: { environment?: Record<string, string>; timeoutMs: number },
): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(pythonProgram(), ['-B', ...words], {
    cwd: join(root, folder),
    encoding: 'utf8',
    timeout: options.timeoutMs,
    env: { ...process.env, PYTHONPATH: PYTHON_SOURCES, PYTHONDONTWRITEBYTECODE: '1', ...options.environment },
  });
  return { status, output: `${stdout}${stderr}` };
}
