import { readersOf } from '../../../shared/base/config/setting-readers';
import { CLUSTER_SETTINGS, SETTINGS, type Setting } from '../../../shared/base/config/settings';

/** What most deployments set: the README names these, docs/configuration.md names all. */
const MOST_USED: readonly (keyof typeof SETTINGS)[] = [
  'port',
  'dataDir',
  'apiKey',
  'rateLimitPerMinute',
  'embeddingModel',
  'recallTarget',
];

function fallbackOf(setting: Setting): string {
  switch (setting.kind) {
    case 'secret':
      return '(unset)';
    case 'integer':
      return setting.fallback === 'cores'
        ? setting.fallbackMax === undefined
          ? '(processors)'
          : `(processors, at most ${setting.fallbackMax})`
        : `\`${setting.fallback}\``;
    case 'choice':
    case 'fraction':
    case 'text':
      return setting.fallback === '' ? '(empty)' : `\`${setting.fallback}\``;
  }
}

function rangeOf(setting: Setting): string {
  switch (setting.kind) {
    case 'integer':
    case 'fraction':
      return `${setting.minimum}–${setting.maximum}`;
    case 'choice':
      return setting.choices.map((choice) => `\`${choice}\``).join(', ');
    case 'secret':
    case 'text':
      return '';
  }
}

/** The table of docs/configuration.md in Markdown, one row per environment variable; ends with a line break. */
export function settingsTable(): string {
  return fullTableOf(SETTINGS);
}

/** The same for what the members of a cluster read besides. */
export function clusterSettingsTable(): string {
  return fullTableOf(CLUSTER_SETTINGS);
}

/** The README's table of the most used variables. */
export function mostUsedSettingsTable(): string {
  return tableOf(
    ['variable', 'default', 'meaning'],
    MOST_USED.map((field) => shortRow(SETTINGS[field])),
  );
}

function shortRow(setting: Setting): string[] {
  return [`\`${setting.name}\``, fallbackOf(setting), setting.meaning];
}

/** The roles that read a setting; `all`: the embedded form, coordinators and nodes. */
function rolesOf(field: string): string {
  const roles = readersOf(field);
  return roles.length === 3 ? 'all' : roles.join(', ');
}

function fullTableOf(settings: Record<string, Setting>): string {
  const rows = Object.entries(settings).map(([field, setting]) => [
    `\`${setting.name}\``,
    fallbackOf(setting),
    rangeOf(setting),
    rolesOf(field),
    setting.meaning,
  ]);
  return tableOf(['variable', 'default', 'range', 'for', 'meaning'], rows);
}

function tableOf(head: string[], rows: string[][]): string {
  const line = (cells: string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line), ''].join('\n');
}
