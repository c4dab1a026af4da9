// Loads a program, one file of dist/programs, in a process or a thread. What it compiles to is kept for the next one
// that loads it: from Node 22 on by Node itself, on Node 20 in a file. What is in that folder is run; it lies beside
// the rest of the set-up, where nobody else writes. Where it can't be written, each start compiles. A program has no
// import(), which Node 20 has no stable way to allow in such code.
const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const nodeModule = require('node:module');
const { basename, dirname, join } = require('node:path');
const { Script } = require('node:vm');
const { threadId } = require('node:worker_threads');

const COMPILED = join(__dirname, '..', '.setup', 'compiled');
/**
 * Of a digest of the source and the code: V8 compares no more than the length of the source, and takes damaged code.
 */
const DIGEST_BYTES = 20;
/**
 * After so long, what a start takes has run, and is compiled. Much later, V8 has thrown away what ran only then. A
 * process that is killed has written by then.
 */
const KEEP_AFTER_MS = 3_000;

/**
 * @param {string} file
 * @param {string} [folder]
 */
function loadProgram(file, folder = COMPILED) {
  const { enableCompileCache, flushCompileCache } =
    /** @type {{ enableCompileCache?: (folder: string) => unknown, flushCompileCache?: () => void }} */ (nodeModule);
  if (enableCompileCache === undefined) {
    runKept(file, join(folder, `${basename(file)}.${process.version}-${process.arch}`));
  } else {
    enableCompileCache(folder);
    require(file);
    // At its end Node does it by itself.
    if (flushCompileCache !== undefined) setTimeout(flushCompileCache, KEEP_AFTER_MS).unref();
  }
}

/**
 * @param {string} file
 * @param {string} codeFile
 */
function runKept(file, codeFile) {
  const source = readFileSync(file);
  const cachedData = readCode(codeFile, source);
  const script = new Script(nodeModule.wrap(source.toString()), { filename: file, cachedData });
  const module = { exports: {} };
  script
    .runInThisContext()
    .call(module.exports, module.exports, nodeModule.createRequire(file), module, file, dirname(file));
  if (cachedData !== undefined && script.cachedDataRejected === false) return;
  const keep = () => {
    process.removeListener('exit', keep);
    clearTimeout(timer);
    writeCode(codeFile, source, script.createCachedData());
  };
  const timer = setTimeout(keep, KEEP_AFTER_MS).unref();
  process.once('exit', keep);
}

/**
 * @param {string} codeFile
 * @param {Buffer} source
 */
function readCode(codeFile, source) {
  try {
    const bytes = readFileSync(codeFile);
    const code = bytes.subarray(DIGEST_BYTES);
    return digestOf(source, code).equals(bytes.subarray(0, DIGEST_BYTES)) ? code : undefined;
  } catch {
    return undefined;
  }
}

/**
 * @param {string} codeFile
 * @param {Buffer} source
 * @param {Buffer} code
 */
function writeCode(codeFile, source, code) {
  const next = `${codeFile}.${process.pid}-${threadId}`;
  try {
    mkdirSync(dirname(codeFile), { recursive: true, mode: 0o700 });
    writeFileSync(next, Buffer.concat([digestOf(source, code), code]), { mode: 0o600 });
    renameSync(next, codeFile);
  } catch {
    // Read-only, or full.
  }
}

/**
 * @param {Buffer} source
 * @param {Buffer} code
 */
function digestOf(source, code) {
  return createHash('sha1').update(source).update(code).digest();
}

module.exports = { loadProgram };
