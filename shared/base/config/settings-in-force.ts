import { readFileSync } from 'node:fs';
import { QuiverError } from '../errors/quiver-error';
import { type ClusterConfig, type Config, nodeEnvironment, readClusterConfig, readConfig } from './config';
import { readersOf, type ProcessRole } from './setting-readers';
import { CLUSTER_SETTINGS, SETTINGS, type Setting } from './settings';
import { describeUnknown, type UnknownSetting, unknownSettings } from './unknown-settings';

/** One variable with the value that a process of some role uses. */
export interface SettingInForce {
  name: string;
  /** The value in use. For a secret: only whether it is set. */
  value: string;
  source: 'environment' | 'default';
}

export interface SettingsInForce {
  settings: SettingInForce[];
  /** Quiver variables that are set but have no effect in this role. */
  unread: string[];
  /** Variables that are most likely misspelt. */
  unknown: UnknownSetting[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The settings that a process of this role would run with, checked as at its start. Also checks that the files they
 * name are readable. `cores` and `hostName` are the machine's. Errors: invalid_parameter with one line for the first
 * bad value.
 */
export function settingsInForce(
  role: ProcessRole,
  environment: Environment,
  machine: { cores: number; hostName: string },
): SettingsInForce {
  const own = role === 'node' ? nodeEnvironment(environment) : environment;
  const config: Config & Partial<ClusterConfig> = {
    ...readConfig(own, machine.cores),
    ...(role === 'embedded' ? {} : readClusterConfig(own, machine.hostName, machine.cores)),
  };
  const isSet = (setting: Setting): boolean => Boolean(environment[setting.name]);
  const all = Object.entries<Setting>({ ...SETTINGS, ...CLUSTER_SETTINGS });
  const read = all.filter(([field]) => readersOf(field).includes(role));
  for (const [field, setting] of read)
    if (setting.name.endsWith('_FILE')) checkFile(setting, String(config[field as keyof typeof config]));
  return {
    settings: read.map(([field, setting]) => ({
      name: setting.name,
      value: shown(setting, config[field as keyof typeof config]),
      source: isSet(setting) ? 'environment' : 'default',
    })),
    unread: all
      .filter(([field, setting]) => isSet(setting) && !readersOf(field).includes(role))
      .map(([, setting]) => setting.name),
    unknown: unknownSettings(environment),
  };
}

/** The same as text, one line per variable, in columns; ends with a line break. */
export function describeSettings(role: ProcessRole, { settings, unread, unknown }: SettingsInForce): string {
  const nameWidth = Math.max(...settings.map(({ name }) => name.length));
  const valueWidth = Math.max(...settings.map(({ value }) => value.length));
  const lines = settings.map(
    ({ name, value, source }) => `${name.padEnd(nameWidth)}  ${value.padEnd(valueWidth)}  ${source}`,
  );
  if (unread.length > 0) lines.push(`set, but not read by ${role}: ${unread.join(', ')}`);
  lines.push(...unknown.map(describeUnknown));
  return `${lines.join('\n')}\n`;
}

function shown(setting: Setting, value: string | number | string[] | undefined): string {
  if (setting.kind === 'secret') return value === undefined ? '(unset)' : '********';
  const text = Array.isArray(value) ? value.join(',') : String(value);
  return text === '' ? '(empty)' : text;
}

function checkFile(setting: Setting, path: string): void {
  if (path === '') return;
  try {
    readFileSync(path);
  } catch (cause) {
    throw new QuiverError(
      'invalid_parameter',
      `${setting.name}=${JSON.stringify(path)} cannot be read: ${(cause as Error).message}`,
      { cause },
    );
  }
}
