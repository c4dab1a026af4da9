import { CLUSTER_SETTINGS, SETTINGS } from '../../../../../shared/base/config/settings';
import {
  describeUnknown,
  unknownClientSettings,
  unknownSettings,
} from '../../../../../shared/base/config/unknown-settings';
import { warnOfUnknownSettings } from '../../../../../shared/base/process/unknown-settings-warning';

const nearest = (name: string, value = '1'): string | null | undefined =>
  unknownSettings({ [name]: value })[0]?.nearest;

test.each([
  ['RECALL_TARGT', 'RECALL_TARGET'],
  ['RECAL_TARGET', 'RECALL_TARGET'],
  ['EMBEDING_MODLE', 'EMBEDDING_MODEL'],
  ['RATELIMIT_PER_MINUTE', 'RATE_LIMIT_PER_MINUTE'],
  ['RATE_LIMIT_PER_MIN', 'RATE_LIMIT_PER_MINUTE'],
  ['PROT', 'PORT'],
  ['HSOT', 'HOST'],
  ['DATADIR', 'DATA_DIR'],
  ['DATA_DRI', 'DATA_DIR'],
  ['APIKEY', 'API_KEY'],
  ['API_KYE', 'API_KEY'],
  ['BATCH_SIZE_MAX', 'MAX_BATCH_SIZE'],
  ['recall_target', 'RECALL_TARGET'],
  ['DEFAULT_SHARD', 'DEFAULT_SHARDS'],
  ['ETCD_ENDPOINT', 'ETCD_ENDPOINTS'],
  ['CLUSTER_SECERT', 'CLUSTER_SECRET'],
  ['CLUSTER_SECRET_FIL', 'CLUSTER_SECRET_FILE'],
  ['BACKUP_SECRET_FLIE', 'BACKUP_SECRET_FILE'],
  ['QUIVER_RECALL_TARGET', 'RECALL_TARGET'],
  ['QUIVER_DATA_DRI', 'DATA_DIR'],
  ['QUIVER_APIKEY', 'QUIVER_API_KEY'],
  ['QUIVER_PROFIL', 'QUIVER_PROFILE'],
  ['QUIVER_SOMETHING', null],
])('%s is told, with %s', (name, expected) => {
  expect(nearest(name)).toBe(expected);
});

test('what is ours or plainly others’ is not told', () => {
  const others = `PATH HOME PWD OLDPWD SHELL TERM USER LOGNAME LANG LC_ALL TZ HOSTNAME MAIL EDITOR SHLVL DISPLAY TMPDIR _ host port zone
    NODE_ENV NODE_OPTIONS NODE_PATH NODE_VERSION NODE_EXTRA_CA_CERTS NODE_IP NODE_NAME NODE_TLS_REJECT_UNAUTHORIZED NO_COLOR NO_PROXY HTTP_PROXY HTTPS_PROXY http_proxy
    npm_config_cache npm_package_version npm_lifecycle_event UV_THREADPOOL_SIZE UV_CACHE_DIR OPENBLAS_NUM_THREADS OMP_NUM_THREADS MALLOC_ARENA_MAX LD_LIBRARY_PATH
    KUBERNETES_PORT KUBERNETES_SERVICE_HOST KUBERNETES_PORT_443_TCP_ADDR POD_NAME POD_IP POD_NAMESPACE QUIVER_COORDINATOR_SERVICE_HOST QUIVER_COORDINATOR_PORT_8000_TCP_PROTO
    QUIVER_SERVICE_PORT_API OTEL_SERVICE_NAME OTEL_EXPORTER_OTLP_ENDPOINT AWS_REGION AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN HF_HOME HF_TOKEN
    APP_KEY APP_PORT APP_METRICS API_URL API_URI API_HOST API_TOKEN WEB_PORT DB_HOST DB_PORT GRPC_PORT TCP_PORT DATABASE_URL PGDATA PGHOST PGPORT REDIS_PORT RUST_LOG JAVA_HOME
    SSL_CERT_FILE SSL_CERT_DIR SSL_KEY_FILE DB_CA_FILE UDP_PORT WEB_DOCS ETCDCTL_ENDPOINTS ETCD_ROOT_PASSWORD ETCD_NAME ETCD_DATA_DIR ETCD_TRUSTED_CA_FILE CI GITHUB_TOKEN GIT_AUTHOR_NAME SSH_AUTH_SOCK XDG_CONFIG_HOME DOCKER_HOST PYTHONPATH
    VIRTUAL_ENV WINDOWID COLORTERM SUDO_USER INVOCATION_ID JOURNAL_STREAM SECRET_KEY JWT_SECRET LOG_FORMAT LOG_FILE CACHE_DIR BASH_ENV HISTSIZE MEMORY_LIMIT PROJECT PYTHON SEED MAX_CONNECTIONS`;
  const ours = [...Object.values(SETTINGS), ...Object.values(CLUSTER_SETTINGS)].map(({ name }) => name);
  const more = [
    'API_KEY_FILE',
    'BACKUP_SECRET_FILE',
    'QUIVER_URL',
    'QUIVER_API_KEY',
    'QUIVER_PROFILE',
    'QUIVER_PROFILES',
  ];
  expect(
    unknownSettings(Object.fromEntries([...others.split(/\s+/), ...ours, ...more].map((name) => [name, '1']))),
  ).toEqual([]);
});

test('what Kubernetes says of a service, what is empty, and what is set rightly beside it, is not told', () => {
  expect(nearest('QUIVER_PORT', 'tcp://10.0.0.1:8000')).toBeUndefined();
  expect(nearest('OPS_PORTS', 'tcp://10.0.0.1:8000')).toBeUndefined();
  expect(nearest('RECALL_TARGT', '')).toBeUndefined();
  expect(unknownSettings({ RECALL_TARGT: '0.9', RECALL_TARGET: '0.95' })).toEqual([]);
});

test('each is a line of the log, without its value', () => {
  const lines: unknown[] = [];
  warnOfUnknownSettings({ RECALL_TARGT: 'hush', QUIVER_X: 'hush' }, { warn: (...line) => void lines.push(line) });
  expect(lines).toEqual([
    [{ setting: 'QUIVER_X', nearest: null }, 'QUIVER_X is not a setting'],
    [
      { setting: 'RECALL_TARGT', nearest: 'RECALL_TARGET' },
      'RECALL_TARGT is not a setting: did you mean RECALL_TARGET?',
    ],
  ]);
});

test('the command line tells its own alone', () => {
  expect(
    unknownClientSettings({ QUIVER_APIKEY: 'x', RECALL_TARGT: '1', QUIVER_OTHER: '1' }).map(describeUnknown),
  ).toEqual(['QUIVER_APIKEY is not a setting: did you mean QUIVER_API_KEY?']);
});
