import { QuiverError } from '../errors/quiver-error';
import { embeddingProvidersIn, isProvidersJson } from './embedding-providers';
import { languageModelsIn, LLM_MODELS_EXPECTED, LLM_URL_EXPECTED, llmUrlIn } from './language-models';
import { isNetwork } from './network-list';
import { EVERY_ORIGIN, originOf } from './origin-list';
import { prefixIn } from './path-prefix';
import { RERANK_MODELS_EXPECTED, rerankModelsIn } from './rerank-models';
import { secretIn, withSecretFiles } from './secret-files';
import { tokenSettings } from './token-settings';
import { CLUSTER_SETTINGS, NODE_FALLBACKS, type SecretSetting, SETTINGS, type Setting } from './settings';

/**
 * The configuration of a process, read from the environment, checked once at the start and complete afterwards. Every
 * variable is part of the public interface; `settings.ts` holds their names, ranges, defaults and meanings. The fields
 * and their types follow from that table: the type of a choice is the union of its choices, and a secret may be
 * undefined.
 */
export type Config = Omit<ValuesOf<typeof SETTINGS>, ListField> & Record<ListField, string[]>;
type ListField = 'embeddingModels' | 'trustedProxies' | 'mcpOrigins' | 'corsOrigins';

/**
 * What a member of a cluster reads in addition: the endpoints as a list, the secret, which is required, and a name,
 * which is always set.
 */
export type ClusterConfig = Omit<ValuesOf<typeof CLUSTER_SETTINGS>, 'clusterSecret' | 'etcdEndpoints'> & {
  clusterSecret: string;
  etcdEndpoints: string[];
};

/** The values of a table of settings, by field. */
type ValuesOf<Table extends Record<string, Setting>> = { -readonly [Field in keyof Table]: ValueOf<Table[Field]> };
type ValueOf<Of extends Setting> = Of extends { kind: 'integer' | 'fraction' }
  ? number
  : Of extends { choices: readonly (infer Choice)[] }
    ? Choice
    : Of extends { kind: 'secret' }
      ? string | undefined
      : string;

/** How a process reaches etcd. */
export type EtcdConfig = Pick<
  ClusterConfig,
  'etcdEndpoints' | 'etcdUsername' | 'etcdPassword' | 'etcdCaFile' | 'etcdCertFile' | 'etcdKeyFile'
>;

type Environment = Readonly<Record<string, string | undefined>>;

/** What a header can carry unchanged: printable ASCII without spaces at either end. */
const HEADER_VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
const INTEGER = /^-?\d{1,15}$/;
/** These names become keys of the cluster store and parts of URLs. */
const MEMBER_ID = /^[A-Za-z0-9._-]{1,64}$/;
/** A host name, an IPv4 address or a bracketed IPv6 address, with or without a port. */
const ADDRESS = /^(?:(?:[A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?)?$/;
const HOST_NAME = /^[A-Za-z0-9.-]{0,253}$/;
const ENDPOINT = /^(?:https?:\/\/)?(?:[A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}$/;
/** It becomes a part of URLs. */
const REVISION = /^(?:[A-Za-z0-9][A-Za-z0-9._-]{0,127})?$/;
const SHA256 = /^(?:[0-9a-f]{64})?$/;
const BACKUP_TARGET =
  /^(?:file:\/(?:\/\/)?[^/?#%\s][^?#%]*|s3:\/\/[a-z0-9][a-z0-9.-]{1,62}(?:\/[A-Za-z0-9._-]+)*\/?)?$/;
/** The port at the end of an address. */
const PORT_OF = /:(\d+)\/?$/;
const PORT_MAX = 65_535;
const PORTS = `, with a port from 1 to ${PORT_MAX}`;
const STORE_URL = /^(?:https?:\/\/(?:[A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?\/?)?$/;
const DECIMAL = /^-?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE]-?\d{1,3})?$/;

/** Of a URL that has a user and perhaps a password. */
const CREDENTIALS = /:\/\/[^/?#]*@/;

/** Throws a configuration error: one line that names the variable, without the value of a secret or of one in a URL. */
function refuse(setting: Setting, value: string, expected: string): never {
  const isSecret = setting.kind === 'secret' || CREDENTIALS.test(value);
  const shown = isSecret ? setting.name : `${setting.name}=${JSON.stringify(value)}`;
  throw new QuiverError('invalid_parameter', `${shown} is not valid: expected ${expected}`);
}

function readNumber(
  setting: Setting & { minimum: number; maximum: number },
  value: string,
  shape: RegExp,
  noun: string,
): number {
  const number = Number(value.trim());
  if (!shape.test(value.trim()) || number < setting.minimum || number > setting.maximum) {
    refuse(setting, value, `${noun} from ${setting.minimum} to ${setting.maximum}`);
  }
  return number;
}

/** Whether an address has the shape, and its port, where it has one, is one to connect to. */
function isAddress(shape: RegExp, address: string): boolean {
  const [, port] = PORT_OF.exec(address) ?? [];
  return shape.test(address) && (port === undefined || (Number(port) >= 1 && Number(port) <= PORT_MAX));
}

/** Whether a secret is easily guessed, or only a placeholder. */
function isTrivial(secret: string, lengthMin: number): boolean {
  return secret.length < lengthMin || (lengthMin > 0 && new Set(secret).size === 1);
}

/** The value of one variable; an empty one counts as unset. */
function readSetting(setting: Setting, environment: Environment, cores: number): string | number | undefined {
  const value = environment[setting.name] || undefined;
  switch (setting.kind) {
    case 'integer':
      if (value === undefined)
        return setting.fallback === 'cores'
          ? Math.min(Math.max(1, cores), setting.fallbackMax ?? Infinity)
          : setting.fallback;
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
      if (value !== undefined && isTrivial(value, setting.lengthMin ?? 0)) {
        refuse(setting, value, `at least ${setting.lengthMin} characters, not all the same`);
      }
      return value;
    case 'text':
      if (value !== undefined && value.trim() === '') refuse(setting, value, 'a text that is not blank');
      return value ?? setting.fallback;
  }
}

/**
 * Reads and checks the environment. `cores` is how many processors the process may use. Errors: QuiverError
 * `invalid_parameter` with a one-line message for the first bad value.
 */
export function readConfig(environment: Environment, cores: number): Config {
  const config = readTable(SETTINGS, environment, cores);
  if (config.chunkOverlap >= config.chunkSize) {
    refuse(SETTINGS.chunkOverlap, String(config.chunkOverlap), `an integer below CHUNK_SIZE (${config.chunkSize})`);
  }
  if (!BACKUP_TARGET.test(config.backupTarget))
    refuse(
      SETTINGS.backupTarget,
      config.backupTarget,
      'a folder or a bucket, as file:/path/of/it or s3://bucket/prefix',
    );
  if (!isAddress(STORE_URL, config.backupS3Endpoint))
    refuse(SETTINGS.backupS3Endpoint, config.backupS3Endpoint, `http://host:port or https://host:port${PORTS}`);
  if (config.backupLog === 'true' && config.backupTarget === '')
    refuse(SETTINGS.backupLog, config.backupLog, 'BACKUP_TARGET to be set, too');
  if (config.backupSchedule !== '' && config.backupTarget === '')
    refuse(SETTINGS.backupSchedule, config.backupSchedule, 'BACKUP_TARGET to be set, too');
  for (const name of ['embeddingRevision', 'rerankRevision'] as const)
    if (!REVISION.test(config[name]))
      refuse(SETTINGS[name], config[name], 'a commit, tag or branch of letters, digits, dots, dashes and underscores');
  for (const name of ['embeddingSha256', 'rerankSha256'] as const)
    if (!SHA256.test(config[name])) refuse(SETTINGS[name], config[name], '64 hexadecimal digits in lower case');
  // A file is read by who calls them: the others may lack it.
  if (isProvidersJson(config.embeddingProviders)) void embeddingProvidersIn(config.embeddingProviders);
  if (rerankModelsIn(config.rerankModel) === null)
    refuse(SETTINGS.rerankModel, config.rerankModel, RERANK_MODELS_EXPECTED);
  if (config.llmBaseUrl !== '' && llmUrlIn(config.llmBaseUrl) === null)
    refuse(SETTINGS.llmBaseUrl, config.llmBaseUrl, LLM_URL_EXPECTED);
  if (languageModelsIn(config.llmModels) === null || (config.llmBaseUrl !== '' && config.llmModels === ''))
    refuse(SETTINGS.llmModels, config.llmModels, LLM_MODELS_EXPECTED);
  checkTogether(
    SETTINGS.apiTlsCertFile,
    [config.apiTlsCertFile, config.apiTlsKeyFile],
    'API_TLS_CERT_FILE and API_TLS_KEY_FILE to be given together',
  );
  void tokenSettings(config);
  const trustedProxies = listOf(config.trustedProxies);
  const bad = trustedProxies.find((text) => !isNetwork(text));
  if (bad !== undefined) refuse(SETTINGS.trustedProxies, bad, 'networks such as 10.0.0.0/8, separated by commas');
  const mcpOrigins = listOf(config.mcpOrigins).map(
    (text) =>
      originOf(text) ??
      refuse(SETTINGS.mcpOrigins, text, 'origins such as https://tools.example.com, separated by commas'),
  );
  const corsOrigins = listOf(config.corsOrigins).map((text) =>
    text === EVERY_ORIGIN
      ? text
      : (originOf(text) ??
        refuse(SETTINGS.corsOrigins, text, 'origins such as https://app.example.com, separated by commas, or *')),
  );
  const embeddingModels = listOf(config.embeddingModels);
  return { ...config, basePath: basePathOf(config.basePath), embeddingModels, trustedProxies, mcpOrigins, corsOrigins };
}

/** The secret in a file that was replaced, checked as at the start. Errors: as readConfig. */
export function apiKeyIn(content: Buffer): string {
  return replacedSecret(SETTINGS.apiKey, content);
}

/** The same of the password of etcd. */
export function etcdPasswordIn(content: Buffer): string {
  return replacedSecret(CLUSTER_SETTINGS.etcdPassword, content);
}

function replacedSecret(setting: SecretSetting, content: Buffer): string {
  const { name } = setting;
  const secret = readSetting(setting, { [name]: secretIn(content) }, 1);
  if (typeof secret === 'string') return secret;
  throw new QuiverError('invalid_parameter', `${name}_FILE is empty`);
}

/**
 * First segments of the service's own paths: behind a proxy that takes the prefix away, it could not be told from
 * these.
 */
const OWN_SEGMENTS = ['v1', 'ui', 'docs', 'openapi.json', 'metrics', 'mcp'];

function basePathOf(text: string): string {
  const path = prefixIn(text);
  if (path === null)
    refuse(
      SETTINGS.basePath,
      text,
      'a path such as /tools/quiver, of letters, digits, dots, dashes, underscores and ~',
    );
  if (OWN_SEGMENTS.includes(path.split('/')[1]))
    refuse(SETTINGS.basePath, text, `a path that begins with none of the service's own: /${OWN_SEGMENTS.join(', /')}`);
  return path;
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/**
 * What a member of a cluster reads in addition to `readConfig`. `hostName` is the name of a member that has none of its
 * own, `cores` as for that.
 */
export function readClusterConfig(environment: Environment, hostName: string, cores = 1): ClusterConfig {
  const values = readTable(CLUSTER_SETTINGS, environment, cores);
  const { clusterSecret, memberId } = values;
  if (clusterSecret === undefined) {
    throw new QuiverError(
      'invalid_parameter',
      'CLUSTER_SECRET is not set: members of a cluster need one, the same for all',
    );
  }
  if (!MEMBER_ID.test(memberId || hostName))
    refuse(CLUSTER_SETTINGS.memberId, memberId || hostName, 'at most 64 letters, digits, dots, dashes and underscores');
  if (!isAddress(ADDRESS, values.advertiseAddress))
    refuse(CLUSTER_SETTINGS.advertiseAddress, values.advertiseAddress, `a host, or host:port${PORTS}`);
  checkTogether(
    CLUSTER_SETTINGS.tlsCertFile,
    [values.tlsCaFile, values.tlsCertFile, values.tlsKeyFile],
    'TLS_CA_FILE, TLS_CERT_FILE and TLS_KEY_FILE to be given together',
  );
  if (!HOST_NAME.test(values.tlsServerName))
    refuse(CLUSTER_SETTINGS.tlsServerName, values.tlsServerName, 'a host name');
  return { ...values, ...readEtcdConfig(environment), memberId: memberId || hostName, clusterSecret };
}

/** The settings that concern etcd. Errors: as readConfig. */
export function readEtcdConfig(environment: Environment): EtcdConfig {
  const { etcdEndpoints, etcdUsername, etcdPassword, etcdPasswordFile, etcdCaFile, etcdCertFile, etcdKeyFile } =
    CLUSTER_SETTINGS;
  const table = { etcdEndpoints, etcdUsername, etcdPassword, etcdPasswordFile, etcdCaFile, etcdCertFile, etcdKeyFile };
  const values = readTable(table, environment, 1);
  const endpoints = listOf(values.etcdEndpoints);
  const bad = endpoints.find((endpoint) => !isAddress(ENDPOINT, endpoint));
  if (bad !== undefined || endpoints.length === 0)
    refuse(etcdEndpoints, bad ?? values.etcdEndpoints, `URLs such as http://host:2379${PORTS}, separated by commas`);
  checkTogether(
    etcdCertFile,
    [values.etcdCertFile, values.etcdKeyFile],
    'ETCD_CERT_FILE and ETCD_KEY_FILE to be given together',
  );
  return { ...values, etcdEndpoints: endpoints };
}

/** The environment of a storage node, with the defaults that differ for this role. */
export function nodeEnvironment(environment: Environment): Environment {
  return { ...environment, OPS_PORT: environment.OPS_PORT || NODE_FALLBACKS.OPS_PORT };
}

/** The cast is safe: for each kind of setting, `readSetting` answers the type that ValueOf gives it. */
function readTable<Table extends Record<string, Setting>>(
  table: Table,
  environment: Environment,
  cores: number,
): ValuesOf<Table> {
  const whole = withSecretFiles(table, environment);
  return Object.fromEntries(
    Object.entries(table).map(([field, setting]) => [field, readSetting(setting, whole, cores)]),
  ) as ValuesOf<Table>;
}

function checkTogether(setting: Setting, values: string[], expected: string): void {
  const given = values.filter((value) => value !== '').length;
  if (given !== 0 && given !== values.length) refuse(setting, '', expected);
}
