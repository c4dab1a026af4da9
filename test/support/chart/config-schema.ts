import { CLUSTER_SETTINGS, SETTINGS, type Setting } from '../../../shared/base/config/settings';

/** Settings that the chart gives itself: they follow from its pods, ports, volumes and Secrets. */
const OF_THE_CHART = [
  'PORT',
  'HOST',
  'OPS_PORT',
  'DATA_DIR',
  'API_KEY',
  'INDEX_THREADS',
  'EMBEDDING_THREADS',
  'SHUTDOWN_TIMEOUT_MS',
  'ETCD_ENDPOINTS',
  'ETCD_USERNAME',
  'ETCD_PASSWORD',
  'ETCD_CA_FILE',
  'ETCD_CERT_FILE',
  'ETCD_KEY_FILE',
  'NODE_ID',
  'ADVERTISE_ADDRESS',
  'RPC_PORT',
  'ZONE',
  'CLUSTER_SECRET',
  'CLUSTER_SECRET_OTHER',
  'TLS_CA_FILE',
  'TLS_CERT_FILE',
  'TLS_KEY_FILE',
  'TLS_SERVER_NAME',
  'HTTP_THREADS',
  'READ_THREADS',
];

/** Secrets that the chart does not know: `extraEnv` of both roles takes them from a Secret of the cluster's. */
const OF_EXTRA_ENV = [
  'BACKUP_S3_ACCESS_KEY_ID',
  'BACKUP_S3_SECRET_ACCESS_KEY',
  'BACKUP_S3_SESSION_TOKEN',
  'BACKUP_SECRET',
  'BACKUP_SECRET_OTHER',
  'RERANK_API_KEY',
  'LLM_API_KEY',
];

/** The settings that `config` of the chart's values may hold. */
export const CONFIGURABLE: Setting[] = [...Object.values(SETTINGS), ...Object.values(CLUSTER_SETTINGS)].filter(
  ({ name }) => ![...OF_THE_CHART, ...OF_EXTRA_ENV].includes(name),
);

/**
 * The part of values.schema.json about `config`, made from the program's table of settings. Other names are let through
 * to templates/checks.yaml, which says what was most likely meant.
 */
export function configSchema(): { type: string; additionalProperties: boolean; properties: object } {
  const properties = Object.fromEntries(
    CONFIGURABLE.map((setting) => [setting.name, { description: setting.meaning, ...valueOf(setting) }]),
  );
  return { type: 'object', additionalProperties: true, properties };
}

function valueOf(setting: Setting): object {
  switch (setting.kind) {
    case 'integer':
      return { type: 'integer', minimum: setting.minimum, maximum: setting.maximum };
    case 'fraction':
      return { type: 'number', minimum: setting.minimum, maximum: setting.maximum };
    case 'choice':
      return { enum: setting.choices };
    case 'text':
      return { type: 'string', pattern: '\\S' };
    case 'secret':
      throw new Error(`${setting.name} is a secret: it has no place in a ConfigMap`);
  }
}
