// Writes the sync form of a module of the Python client from the async one, line by line. `__init__.py` and
// `runtime.py`, where the two differ, are written by hand.

const NOTE = '# Written from ../_async by `UPDATE=1 npm test -- test/unit/clients/python`: edit that.\n';
const BY_HAND = ['__init__.py', 'runtime.py'];

/** @type {[RegExp, string][]} */
const RULES = [
  [/\basync (def|for|with)\b/g, '$1'],
  [/\bawait /g, ''],
  [/\basynccontextmanager\b/g, 'contextmanager'],
  [/\bAsync(Iterator|Iterable)\b/g, '$1'],
  [/Callable\[(\[[^\]]*\]), Awaitable\[(\w+)\]\]/g, 'Callable[$1, $2]'],
  [/\bAsync(Backups|Cluster|Collection|Jobs|Keys|Lanes|LocalQuiverClient|QuiverClient|Searches|Transport)\b/g, '$1'],
  [/__a(enter|exit)__/g, '__$1__'],
  [/\blocal_async\b/g, 'local'],
  [/\baiter_bytes\b/g, 'iter_bytes'],
  [/\baclose\b/g, 'close'],
];

/** The names of an import, of which two may have become one. */
function sortedOnce(names) {
  return [...new Set(names.split(', '))]
    .filter((name) => name !== 'Awaitable')
    .sort((a, b) => (a < b ? -1 : 1))
    .join(', ');
}

/** The sync form of a module's text. */
function syncFrom(source) {
  const text = RULES.reduce((before, [pattern, replacement]) => before.replace(pattern, replacement), source);
  return NOTE + text.replace(/(?<=^from collections\.abc import ).*$/gm, sortedOnce);
}

module.exports = { BY_HAND, syncFrom };
