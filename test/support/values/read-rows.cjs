/**
 * Prints the rows of files as `quiver import` reads them, one JSON document: for each file its rows, or why there are
 * none. A process of its own: Jest can't load the packages that read tables.
 */
require('../swc-register.js');
const { formatOf, openFile } = require('../../../cli/formats/open-source.ts');
const { metadataValue } = require('../../../cli/import/row-values.ts');

/** @param {string} path */
async function rowsOf(path) {
  /** @type {unknown[]} */
  const rows = [];
  try {
    const source = await openFile(
      { path, format: formatOf(path), name: path },
      { format: null, delimiter: null, columns: null, split: { by: 'file' } },
    );
    for await (const { records } of source.read(null, null))
      rows.push(...records.map((/** @type {any} */ { fields }) => metadataValue(fields)));
    return { rows };
  } catch (error) {
    return { error: /** @type {Error} */ (error).message };
  }
}

void Promise.all(process.argv.slice(2).map(rowsOf)).then((answers) => process.stdout.write(JSON.stringify(answers)));
