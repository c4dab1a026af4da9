const { readdirSync, watch } = require('node:fs');
const { join } = require('node:path');

/** An editor that saves all its files writes them within this time. */
const QUIET_MS = 100;
const SOURCE = /\.(?:ts|tsx|mjs|cjs|cc|h|json|css|html|proto)$/;
/** What a build writes. */
const BUILT = new Set(['build', 'dist', 'node_modules']);

/** @typedef {{ stop(): Promise<void> }} Service */

/**
 * Builds and starts a service, and does both again after each change of a source in `folders`. A build that fails
 * leaves the service that runs as it is. A change during a build leads to another one.
 */
class DevLoop {
  #folders;
  #build;
  #start;
  #say;
  /** @type {Map<string, import('node:fs').FSWatcher>} */
  #watchers = new Map();
  /** @type {Service | null} */
  #service = null;
  /**
   * When the first change came that no build has begun with.
   * @type {number | null}
   */
  #changedAt = null;
  /** @type {Promise<void> | null} */
  #round = null;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #isClosed = false;

  /**
   * @param {object} parts
   * @param {string[]} parts.folders with all that they hold
   * @param {() => Promise<void>} parts.build rejects with an Error to show
   * @param {() => Promise<Service>} parts.start resolves when the service answers
   * @param {(line: string) => void} parts.say
   */
  constructor({ folders, build, start, say }) {
    this.#folders = folders;
    this.#build = build;
    this.#start = start;
    this.#say = say;
  }

  /** Resolves when the first round is over, whether it succeeded or not. */
  async begin() {
    this.#watchAll();
    this.#changedAt = Date.now();
    await this.#go();
  }

  async close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers.values()) watcher.close();
    await this.#round;
    await this.#service?.stop();
  }

  #go() {
    this.#round ??= this.#rounds().finally(() => (this.#round = null));
    return this.#round;
  }

  async #rounds() {
    while (this.#changedAt !== null && !this.#isClosed) {
      const since = this.#changedAt;
      this.#changedAt = null;
      try {
        await this.#build();
        // What changed meanwhile may be half of an edit.
        if (this.#changedAt !== null || this.#isClosed) continue;
        await this.#service?.stop();
        this.#service = null;
        this.#service = await this.#start();
        this.#say(`serves, ${((Date.now() - since) / 1000).toFixed(1)} s after the change`);
      } catch (error) {
        this.#say(`${/** @type {Error} */ (error).message}\nwaits for a change`);
      }
    }
  }

  /** Watches each folder by itself: a recursive watch loses files that are saved by renaming. */
  #watchAll() {
    const folders = new Set(this.#folders.flatMap((folder) => [folder, ...foldersUnder(folder)]));
    for (const [folder, watcher] of this.#watchers) {
      if (folders.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    for (const folder of folders) {
      if (this.#watchers.has(folder)) continue;
      try {
        const watcher = watch(folder, (_, name) => this.#noticed(name));
        watcher.on('error', () => undefined);
        this.#watchers.set(folder, watcher);
      } catch (error) {
        // It has gone since.
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error;
      }
    }
  }

  /** @param {string | null} name of a file, or of a folder, which has no ending */
  #noticed(name) {
    if (this.#isClosed || name === null || BUILT.has(name) || (name.includes('.') && !SOURCE.test(name))) return;
    this.#changedAt ??= Date.now();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#watchAll();
      void this.#go();
    }, QUIET_MS);
  }
}

/**
 * @param {string} folder
 * @returns {string[]}
 */
function foldersUnder(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !BUILT.has(entry.name))
    .flatMap((entry) => [join(folder, entry.name), ...foldersUnder(join(folder, entry.name))]);
}

module.exports = { DevLoop };
