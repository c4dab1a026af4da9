import { QuiverError } from '../errors/quiver-error';
import { SETTINGS, type Setting } from './settings';

/**
 * The configuration of a process: what the environment says, checked once at start and complete afterwards.
 * Every variable is part of the public interface; `settings.ts` holds their names, ranges and defaults.
 */
export interface Config {
  port: number;
  host: string;
  opsPort: number;
  dataDir: string;
  apiKey: string | undefined;
  /** Requests per minute and key; 0 is unlimited. */
  rateLimitPerMinute: number;
  batchItemsMax: number;
  bodyBytesMax: number;
  uploadBytesMax: number;
  metadataBytesMax: number;
  vectorDimMax: number;
  kMax: number;
  queryLengthMax: number;
  embeddingModel: string;
  /** Characters per chunk and shared between neighbours. */
  chunkSize: number;
  chunkOverlap: number;
  recallTarget: number;
  /** Defaults for new collections. */
  defaultShards: number;
  defaultReplicas: number;
  /** Native threads that build graphs in the background. */
  indexThreads: number;
  logLevel: string;
  /** Longest a client call may take inside, in milliseconds. */
  requestTimeoutMs: number;
  /** Longest a graceful stop may take before the process ends hard, in milliseconds. */
  shutdownTimeoutMs: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What a header can carry unchanged: printable ASCII without blanks at its ends. */
const HEADER_VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
const INTEGER = /^-?\d{1,15}$/;
const DECIMAL = /^-?\d*\.?\d+(?:[eE]-?\d{1,3})?$/;

/** A configuration error: one clear line that names the variable; a secret's value is not in it. */
function refuse(setting: Setting, value: string, expected: string): never {
  const shown = setting.kind === 'secret' ? setting.name : `${setting.name}=${JSON.stringify(value)}`;
  throw new QuiverError('invalid_parameter', `${shown} is not valid: expected ${expected}`);
}

function readNumber(setting: Setting & { minimum: number; maximum: number }, value: string, shape: RegExp, noun: string): number {
  const number = Number(value.trim());
  if (!shape.test(value.trim()) || number < setting.minimum || number > setting.maximum) {
    refuse(setting, value, `${noun} from ${setting.minimum} to ${setting.maximum}`);
  }
  return number;
}

/** The value of one variable; an empty one counts as unset. */
function readSetting(setting: Setting, environment: Environment, cores: number): string | number | undefined {
  const value = environment[setting.name] || undefined;
  switch (setting.kind) {
    case 'integer':
      if (value === undefined) return setting.fallback === 'cores' ? Math.max(1, cores) : setting.fallback;
      return readNumber(setting, value, INTEGER, 'an integer');
    case 'fraction':
      return value === undefined ? setting.fallback : readNumber(setting, value, DECIMAL, 'a number');
    case 'choice':
      if (value === undefined) return setting.fallback;
      return setting.choices.includes(value) ? value : refuse(setting, value, `one of ${setting.choices.join(', ')}`);
    case 'secret':
      if (value !== undefined && !HEADER_VALUE.test(value)) {
        refuse(setting, value, 'printable ASCII characters without blanks at the ends, as an HTTP header carries them');
      }
      return value;
    case 'text':
      if (value !== undefined && value.trim() === '') refuse(setting, value, 'a text that is not blank');
      return value ?? setting.fallback;
  }
}

/**
 * Reads and checks the environment. `cores` is how many processors the process may use.
 * Throws QuiverError `invalid_parameter` with a one-line message for the first bad value.
 */
export function readConfig(environment: Environment, cores: number): Config {
  const settings: Record<keyof Config, Setting> = SETTINGS;
  const values = Object.entries(settings).map(([field, setting]) => [field, readSetting(setting, environment, cores)]);
  // Each setting is of the kind that yields its field's type; the tests see to it for every field.
  const config = Object.fromEntries(values) as Config;
  if (config.chunkOverlap >= config.chunkSize) {
    refuse(SETTINGS.chunkOverlap, String(config.chunkOverlap), `an integer below CHUNK_SIZE (${config.chunkSize})`);
  }
  return config;
}
