import { CLUSTER_SETTINGS, SETTINGS, type Setting } from './settings';

function fallbackOf(setting: Setting): string {
  switch (setting.kind) {
    case 'secret':
      return '(unset)';
    case 'integer':
      return setting.fallback === 'cores' ? '(processors)' : `\`${setting.fallback}\``;
    default:
      return setting.fallback === '' ? '(empty)' : `\`${setting.fallback}\``;
  }
}

function rangeOf(setting: Setting): string {
  switch (setting.kind) {
    case 'integer':
    case 'fraction':
      return `${setting.minimum} – ${setting.maximum}`;
    case 'choice':
      return setting.choices.map((choice) => `\`${choice}\``).join(', ');
    case 'secret':
    case 'text':
      return 'text';
  }
}

/** The README's configuration table in Markdown, one row per environment variable; ends with a line break. */
export function settingsTable(): string {
  return tableOf(SETTINGS);
}

/** The same for what the members of a cluster read besides. */
export function clusterSettingsTable(): string {
  return tableOf(CLUSTER_SETTINGS);
}

function tableOf(settings: Record<string, Setting>): string {
  const rows = Object.values(settings).map(
    (setting) => `| \`${setting.name}\` | ${fallbackOf(setting)} | ${rangeOf(setting)} | ${setting.meaning} |`,
  );
  return ['| variable | default | range | meaning |', '|---|---|---|---|', ...rows, ''].join('\n');
}
