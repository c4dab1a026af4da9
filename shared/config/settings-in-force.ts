import { readFileSync } from 'node:fs';
import { QuiverError } from '../errors/quiver-error';
import { type ClusterConfig, type Config, nodeEnvironment, readClusterConfig, readConfig } from './config';
import { readersOf, type ProcessRole } from './setting-readers';
import { CLUSTER_SETTINGS, SETTINGS, type Setting } from './settings';

/** One variable as a process of some role takes it. */
export interface SettingInForce {
  name: string;
  /** The value as it is used; of a secret only whether there is one. */
  value: string;
  source: 'environment' | 'default';
}

export interface SettingsInForce {
  settings: SettingInForce[];
  /** Variables of Quiver that are set and mean nothing to this role. */
  unread: string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What a process of this role would run with, checked as its start checks it, and files besides: they must be readable.
 * `cores` and `hostName` are the machine's. Errors: invalid_parameter with one line for the first bad value.
 */
export function settingsInForce(role: ProcessRole, environment: Environment, machine: { cores: number; hostName: string }): SettingsInForce {
  const own = role === 'node' ? nodeEnvironment(environment) : environment;
  const config: Config & Partial<ClusterConfig> = {
    ...readConfig(own, machine.cores),
    ...(role === 'embedded' ? {} : readClusterConfig(own, machine.hostName)),
  };
  const isSet = (setting: Setting): boolean => Boolean(environment[setting.name]);
  const all = Object.entries<Setting>({ ...SETTINGS, ...CLUSTER_SETTINGS });
  const read = all.filter(([field]) => readersOf(field).includes(role));
  for (const [field, setting] of read) if (setting.name.endsWith('_FILE')) checkFile(setting, String(config[field as keyof typeof config]));
  return {
    settings: read.map(([field, setting]) => ({
      name: setting.name,
      value: shown(setting, config[field as keyof typeof config]),
      source: isSet(setting) ? 'environment' : 'default',
    })),
    unread: all.filter(([field, setting]) => isSet(setting) && !readersOf(field).includes(role)).map(([, setting]) => setting.name),
  };
}

/** The same as text, a line for each variable in columns; ends with a line break. */
export function describeSettings(role: ProcessRole, { settings, unread }: SettingsInForce): string {
  const nameWidth = Math.max(...settings.map(({ name }) => name.length));
  const valueWidth = Math.max(...settings.map(({ value }) => value.length));
  const lines = settings.map(({ name, value, source }) => `${name.padEnd(nameWidth)}  ${value.padEnd(valueWidth)}  ${source}`);
  if (unread.length > 0) lines.push(`set, but not read by ${role}: ${unread.join(', ')}`);
  return `${lines.join('\n')}\n`;
}

function shown(setting: Setting, value: Config[keyof Config] | ClusterConfig[keyof ClusterConfig]): string {
  if (setting.kind === 'secret') return value === undefined ? '(unset)' : '********';
  const text = Array.isArray(value) ? value.join(',') : String(value);
  return text === '' ? '(empty)' : text;
}

function checkFile(setting: Setting, path: string): void {
  if (path === '') return;
  try {
    readFileSync(path);
  } catch (cause) {
    throw new QuiverError('invalid_parameter', `${setting.name}=${JSON.stringify(path)} cannot be read: ${(cause as Error).message}`, { cause });
  }
}
