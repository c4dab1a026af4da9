const { AsyncLocalStorage } = require('node:async_hooks');
const vm = require('node:vm');
const { TestEnvironment } = require('jest-environment-node');
// Jest makes JavaScript of it.
const { RUN_ON_DISK, temporaryFolder } = require('../../test/support/memory-folder.ts');

/** What V8 made of each module that this worker compiled, by file, with the text and parameters that it is good for. */
const kept = /** @type {Map<string, { code: string, parameters: string, data: Buffer }>} */ (new Map());
/** Deprecated for scripts, which have another way since; a function has only this. */
const KEEPING = { produceCachedData: true };
const { compileFunction } = vm;
/** The part of Jest that keeps which test runs in an `AsyncLocalStorage`. */
const RUNS_TESTS = /[\\/]jest-circus[\\/]build[\\/]jestAdapterInit\.js$/;
/** Where Jest keeps what `jest.setTimeout` was told (test/support/time-limit.js). */
const LIMIT_OF_ALL = Symbol.for('TEST_TIMEOUT_SYMBOL');

/**
 * Jest's environment for Node. Jest gives each test file modules of its own, and compiles them each time, its own
 * parts and packages too: a quarter of what a small test file takes. Here a worker compiles a module once.
 */
module.exports = class extends TestEnvironment {
  /**
   * Memory may have become short since the run began: temporary files of this test file go to the disk then.
   *
   * @param {import('@jest/environment').JestEnvironmentConfig} config
   * @param {import('@jest/environment').EnvironmentContext} context
   */
  constructor(config, context) {
    if (process.env[RUN_ON_DISK] !== undefined) process.env.TMPDIR = temporaryFolder();
    super(config, context);
  }

  /** @override */
  async teardown() {
    await super.teardown();
    RunningTest.leave();
  }

  /**
   * A limit of its own is longer than what every test has, never shorter: how long a test takes is the machine's, and
   * what else it does.
   *
   * @param {{ name: string; timeout?: number; concurrent?: boolean }} event
   */
  handleTestEvent({ name, timeout, concurrent }) {
    if (name === 'add_test' && concurrent === true) RunningTest.atOnce = true;
    const least = Number(this.global[LIMIT_OF_ALL]);
    if ((name === 'add_test' || name === 'add_hook') && timeout !== undefined && timeout < least)
      throw new Error(`a limit of ${timeout} ms is shorter than that of all such tests, ${least} ms: leave it out`);
  }
};

/**
 * What Jest uses of an `AsyncLocalStorage`. Until version 24 of Node each promise of the process pays for a real one, and
 * goes on to pay for that of every test file which the worker ran. Tests that run one after the other need none.
 */
class RunningTest {
  /** Whether tests of the test file run at once. */
  static atOnce = false;
  /** @type {AsyncLocalStorage<object> | undefined} */
  static real = undefined;
  /** @type {object | undefined} */
  #test = undefined;

  static leave() {
    RunningTest.atOnce = false;
    RunningTest.real?.disable();
    RunningTest.real = undefined;
  }

  getStore() {
    return RunningTest.real?.getStore() ?? this.#test;
  }

  /**
   * @template Result
   * @param {object} test
   * @param {() => Promise<Result>} run
   * @returns {Promise<Result>}
   */
  async run(test, run) {
    if (RunningTest.atOnce) return (RunningTest.real ??= new AsyncLocalStorage()).run(test, run);
    const before = this.#test;
    this.#test = test;
    try {
      return await run();
    } finally {
      this.#test = before;
    }
  }
}

vm.compileFunction = (code, params = [], options = {}) => {
  const { filename } = options;
  if (filename === undefined) return compileFunction(code, params, options);
  const compiled = compileOnce(code, params, options, filename);
  if (!RUNS_TESTS.test(filename)) return compiled;
  const place = params.indexOf('require');
  /** @param {any[]} given */
  const withRunningTest = (...given) => {
    const { [place]: load } = given;
    const hooks = { ...load('node:async_hooks'), AsyncLocalStorage: RunningTest };
    given[place] = Object.assign(
      (/** @type {string} */ name) => (name === 'node:async_hooks' ? hooks : load(name)),
      load,
    );
    return compiled(...given);
  };
  return withRunningTest;
};

/**
 * @param {string} code
 * @param {readonly string[]} params
 * @param {import('node:vm').CompileFunctionOptions} options
 * @param {string} filename
 */
function compileOnce(code, params, options, filename) {
  const parameters = params.join();
  const known = kept.get(filename);
  // V8 itself compares no more than the length of the text.
  if (known?.code === code && known.parameters === parameters) {
    const compiled = compileFunction(code, params, { ...options, cachedData: known.data });
    if (compiled.cachedDataRejected) kept.delete(filename);
    return compiled;
  }
  const compiled = compileFunction(code, params, { ...options, ...KEEPING });
  if (compiled.cachedData !== undefined) kept.set(filename, { code, parameters, data: compiled.cachedData });
  return compiled;
}
