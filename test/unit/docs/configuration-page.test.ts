import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readersOf } from '../../../shared/base/config/setting-readers';
import { CLUSTER_SETTINGS, SETTINGS, type Setting } from '../../../shared/base/config/settings';
import { clusterSettingsTable, mostUsedSettingsTable, settingsTable } from '../../support/stories/settings-table';

/** docs/configuration.md and the README hold the tables that the settings give; `UPDATE=1` writes them again. */

const root = resolve(__dirname, '../../..');

/** The page's tables by the first column of their heads, in the order of the page. */
const TABLE = /^\| variable \|.*\n(?:\|.*\n)+/gm;

function expectTables(file: string, tables: string[]): void {
  const path = join(root, file);
  const page = readFileSync(path, 'utf8');
  const found = page.match(TABLE) ?? [];
  if (process.env.UPDATE === '1' && found.length === tables.length) {
    const next = [...tables];
    writeFileSync(
      path,
      page.replace(TABLE, () => next.shift() as string),
    );
    return;
  }
  expect(found).toEqual(tables);
}

describe('the configuration page', () => {
  test('has the tables that the settings give', () => {
    expectTables('docs/configuration.md', [settingsTable(), clusterSettingsTable()]);
  });

  test('has a row for every variable, each in all of its columns', () => {
    const rows = (settingsTable() + clusterSettingsTable()).split('\n').filter((line) => line.startsWith('| `'));
    expect(rows).toHaveLength(Object.keys(SETTINGS).length + Object.keys(CLUSTER_SETTINGS).length);
    for (const row of rows) expect(row.split('|')).toHaveLength(7);
    expect(rows[0]).toBe('| `PORT` | `8000` | 0–65535 | embedded, coordinator | Port of the API; 0 takes a free one |');
  });

  test('the README names the most used ones as the settings have them', () => {
    expectTables('README.md', [mostUsedSettingsTable()]);
  });
});

describe('for whom a setting is', () => {
  /** The fields of its configuration that a main file names; a coordinator has those of its membership apart. */
  function namedIn(file: string): Set<string> {
    return new Set(
      [...readFileSync(join(root, file), 'utf8').matchAll(/\b(?:config|member)\.(\w+)/g)].map((match) => match[1]),
    );
  }

  test('a storage node reads those settings of the service that its main file names', () => {
    const named = namedIn('node/main.ts');
    expect(Object.keys(SETTINGS).filter((field) => readersOf(field).includes('node'))).toEqual(
      Object.keys(SETTINGS).filter((field) => named.has(field)),
    );
  });

  test("what only a storage node names of a cluster's settings is for nodes alone", () => {
    const onlyNode = [...namedIn('node/main.ts')].filter(
      (field) => field in CLUSTER_SETTINGS && !namedIn('coordinator/main.ts').has(field),
    );
    expect(
      Object.keys(CLUSTER_SETTINGS)
        .filter((field) => !readersOf(field).includes('coordinator'))
        .sort(),
    ).toEqual(onlyNode.sort());
  });

  test('nothing is for nobody, and the embedded form reads nothing of a cluster', () => {
    for (const field of Object.keys(SETTINGS)) expect(readersOf(field)).toContain('embedded');
    for (const field of Object.keys(CLUSTER_SETTINGS)) expect(readersOf(field)).not.toContain('embedded');
  });

  test('names are used once', () => {
    const names = [...Object.values<Setting>(SETTINGS), ...Object.values<Setting>(CLUSTER_SETTINGS)].map(
      ({ name }) => name,
    );
    expect(new Set(names).size).toBe(names.length);
  });
});
