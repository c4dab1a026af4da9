/**
 * Reads files as `quiver import` does, each when it is told; a process of its own, so that what ends it is seen from
 * outside.
 */
const { readFileSync } = require('node:fs');
require('../../support/swc-register.js');
const { openFile } = require('../../../cli/formats/open-source.ts');
const { CommandError } = require('../../../cli/command-error.ts');

const options = { format: null, delimiter: null, columns: null, split: { by: 'chunks', size: 200, overlap: 20 } };

/** What the system counts for a process begins with what its parent had, so that of this program alone where it is told. */
function peakMiB() {
  try {
    const [, kiB] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    if (kiB !== undefined) return Math.round(Number(kiB) / 1024);
  } catch {
    // Not on every system.
  }
  return Math.round(process.resourceUsage().maxRSS / 1024);
}

/** @param {{ path: string, format: any, wanted?: string[] }} given `wanted`: columns that are read; all by default. */
async function answerTo({ path, format, wanted }) {
  let rows = 0;
  /** @type {any} */
  let error = null;
  try {
    const source = await openFile({ path, format, name: path }, options);
    for await (const { records, unreadable } of source.read(null, wanted === undefined ? null : new Set(wanted))) {
      rows += records.length + unreadable.length;
      // As an import would send them.
      for (const { fields } of records)
        JSON.stringify(fields, (_key, value) => (typeof value === 'bigint' ? String(value) : value));
    }
  } catch (caught) {
    error = caught;
  }
  const unexpected = error === null || error instanceof CommandError ? null : `${error.stack}`;
  process.send?.({
    rows,
    message: error === null ? null : error.message,
    unexpected,
    peakMiB: peakMiB(),
  });
}

process.on('message', (/** @type {any} */ given) => void answerTo(given));
