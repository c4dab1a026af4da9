import { wantedVariants } from '../../../../../coordinator/models/transformers/model-variant';
import { nodeEnvironment, readClusterConfig, readConfig } from '../../../../../shared/base/config/config';
import { SETTINGS, type Setting } from '../../../../../shared/base/config/settings';
import { isQuiverError } from '../../../../../shared/base/errors/quiver-error';

function refusalOf(environment: Record<string, string>): string {
  try {
    readConfig(environment, 2);
  } catch (error) {
    if (isQuiverError(error) && error.kind === 'invalid_parameter') return error.message;
    throw error;
  }
  return 'accepted';
}

describe('configuration', () => {
  test('an empty environment gives the documented defaults', () => {
    expect(readConfig({}, 3)).toEqual({
      port: 8000,
      host: '::',
      httpThreads: 3,
      opsPort: 9090,
      dataDir: 'data',
      dataExpected: 'false',
      apiKey: undefined,
      apiKeyFile: '',
      apiTlsCertFile: '',
      apiTlsKeyFile: '',
      jwtIssuer: '',
      jwtAudience: '',
      jwtJwksUrl: '',
      jwtJwksFile: '',
      jwtAlgorithms: 'RS256,RS384,RS512,PS256,PS384,PS512,ES256,ES384,ES512,EdDSA',
      jwtRoleClaim: 'role',
      jwtRoleMap: '',
      jwtDefaultRole: '',
      jwtCollectionsClaim: '',
      jwtSubjectClaim: 'sub',
      jwtRateLimitPerMinute: 0,
      jwtQuotaItems: 0,
      jwtQuotaBytes: 0,
      jwtQuotaPeriod: 'month',
      jwtLimitsClaim: '',
      jwtToleranceSeconds: 30,
      rateLimitPerMinute: 100,
      badKeyLimitPerMinute: 100,
      trustedProxies: [],
      httpStatus: '200',
      corsOrigins: [],
      basePath: '',
      mcpOrigins: [],
      batchItemsMax: 1000,
      bodyBytesMax: 67_108_864,
      requestBytesMax: 2_097_152,
      jsonDepthMax: 128,
      jsonValuesMax: 100_000,
      jsonKeysMax: 16_384,
      uploadBytesMax: 26_214_400,
      metadataBytesMax: 65_536,
      metadataFieldsMax: 4096,
      collectionFieldsMax: 10_000,
      textBytesMax: 262_144,
      vectorDimMax: 16_384,
      bulkQueriesMax: 20,
      searchEffortMax: 10_000,
      cursorSeconds: 300,
      kMax: 10_000,
      queryLengthMax: 1000,
      searchTextLengthMax: 4096,
      filterConditionsMax: 1024,
      filterValuesMax: 16_384,
      filterDepthMax: 32,
      embeddingModel: 'Xenova/all-MiniLM-L6-v2',
      embeddingModels: [],
      embeddingProviders: '',
      embeddingDtype: 'auto',
      embeddingCacheDir: '',
      embeddingOffline: 'false',
      embeddingHub: 'https://huggingface.co',
      embeddingRevision: '',
      embeddingSha256: '',
      embeddingThreads: 3,
      rerankModel: '',
      rerankThreads: 3,
      rerankRevision: '',
      rerankSha256: '',
      rerankApiKey: undefined,
      llmBaseUrl: '',
      llmApiKey: undefined,
      llmModels: '',
      llmTokensPerDay: 0,
      llmTimeoutMs: 60_000,
      llmCalls: 32,
      llmPromptCharacters: 24_000,
      chunkSize: 500,
      chunkOverlap: 50,
      parserMemoryMiB: 512,
      parserTimeoutMs: 120_000,
      recallTarget: 0.99,
      defaultShards: 1,
      defaultReplicas: 1,
      collectionQuotaItems: 0,
      collectionQuotaBytes: 0,
      collectionsMax: 0,
      shardsMax: 0,
      indexThreads: 3,
      idleShardSeconds: 300,
      storeCacheBytes: 134_217_728,
      storeWriteBufferBytes: 268_435_456,
      logLevel: 'info',
      logRequests: 'notable',
      logSlowMs: 1000,
      auditLog: '',
      auditReads: 'false',
      auditBytesMax: 104_857_600,
      auditFilesMax: 10,
      auditFailure: 'continue',
      requestTimeoutMs: 60_000,
      stallTimeoutMs: 30_000,
      stallBytesPerSecond: 4096,
      answerBytesMax: 0,
      apiMetrics: 'true',
      apiDocs: 'true',
      apiUi: 'true',
      mcp: 'false',
      backupTarget: '',
      backupSchedule: '',
      backupKeep: '7d,4w,12m',
      backupLog: 'false',
      backupLogSeconds: 5,
      backupLogKeptBytes: 2_147_483_648,
      backupS3Endpoint: '',
      backupS3Region: 'us-east-1',
      backupS3PathStyle: 'true',
      backupS3AccessKeyId: undefined,
      backupS3SecretAccessKey: undefined,
      backupS3SessionToken: undefined,
      backupS3CredentialsFile: '',
      backupS3Encryption: '',
      backupSecret: undefined,
      backupSecretOther: undefined,
      backupBytesPerSecond: 104_857_600,
      shutdownTimeoutMs: 25_000,
    });
  });

  test('an empty variable counts as unset', () => {
    expect(readConfig({ PORT: '', API_KEY: '', HOST: '', RECALL_TARGET: '' }, 2)).toEqual(readConfig({}, 2));
  });

  test('every variable reaches its field', () => {
    const given: Record<keyof typeof SETTINGS, string | number> = {
      port: 1,
      host: '127.0.0.1',
      httpThreads: 7,
      opsPort: 2,
      dataDir: '/srv/quiver',
      dataExpected: 'true',
      apiKey: 'secret of mine',
      apiKeyFile: '',
      apiTlsCertFile: '/srv/api.pem',
      apiTlsKeyFile: '/srv/api.key',
      jwtIssuer: 'https://issuer.example',
      jwtAudience: 'quiver',
      jwtJwksUrl: 'https://issuer.example/keys',
      jwtJwksFile: '',
      jwtAlgorithms: 'ES256',
      jwtRoleClaim: 'roles',
      jwtRoleMap: 'ops=admin',
      jwtDefaultRole: 'readonly',
      jwtCollectionsClaim: 'collections',
      jwtSubjectClaim: 'email',
      jwtRateLimitPerMinute: 35,
      jwtQuotaItems: 36,
      jwtQuotaBytes: 37,
      jwtQuotaPeriod: 'day',
      jwtLimitsClaim: 'limits',
      jwtToleranceSeconds: 5,
      rateLimitPerMinute: 0,
      badKeyLimitPerMinute: 3,
      trustedProxies: '10.0.0.0/8',
      httpStatus: 'real',
      corsOrigins: 'https://app.example.com',
      basePath: '/tools/quiver',
      mcpOrigins: 'https://tools.example.com',
      batchItemsMax: 4,
      bodyBytesMax: 2048,
      requestBytesMax: 1025,
      jsonDepthMax: 16,
      jsonValuesMax: 101,
      jsonKeysMax: 102,
      uploadBytesMax: 6,
      metadataBytesMax: 7,
      vectorDimMax: 8,
      bulkQueriesMax: 33,
      searchEffortMax: 34,
      cursorSeconds: 35,
      kMax: 9,
      queryLengthMax: 10,
      metadataFieldsMax: 14,
      collectionFieldsMax: 21,
      textBytesMax: 22,
      searchTextLengthMax: 23,
      filterConditionsMax: 24,
      filterValuesMax: 25,
      filterDepthMax: 26,
      embeddingModel: 'builtin',
      embeddingModels: 'own/other, a/folder',
      embeddingProviders: '/srv/providers.json',
      embeddingDtype: 'fp32',
      embeddingCacheDir: '/srv/models',
      embeddingOffline: 'true',
      embeddingHub: 'http://mirror',
      embeddingRevision: 'v1.0',
      embeddingSha256: 'ab'.repeat(32),
      embeddingThreads: 5,
      rerankModel: 'late-interaction:model',
      rerankThreads: 6,
      rerankRevision: 'v2',
      rerankSha256: 'cd'.repeat(32),
      rerankApiKey: 'remote-key',
      llmBaseUrl: 'http://model:1/v1',
      llmApiKey: 'model-key',
      llmModels: 'small, large',
      llmTokensPerDay: 51,
      llmTimeoutMs: 5200,
      llmCalls: 53,
      llmPromptCharacters: 5400,
      chunkSize: 100,
      chunkOverlap: 11,
      parserMemoryMiB: 300,
      parserTimeoutMs: 30_000,
      recallTarget: 0.95,
      defaultShards: 12,
      defaultReplicas: 3,
      collectionQuotaItems: 31,
      collectionQuotaBytes: 32,
      collectionsMax: 16,
      shardsMax: 17,
      indexThreads: 13,
      idleShardSeconds: 77,
      storeCacheBytes: 16,
      storeWriteBufferBytes: 1_048_577,
      logLevel: 'debug',
      logRequests: 'all',
      logSlowMs: 17,
      auditLog: '/srv/audit.jsonl',
      auditReads: 'true',
      auditBytesMax: 4097,
      auditFilesMax: 18,
      auditFailure: 'refuse',
      requestTimeoutMs: 1400,
      stallTimeoutMs: 1500,
      stallBytesPerSecond: 100,
      answerBytesMax: 1_000_000,
      apiMetrics: 'false',
      apiDocs: 'false',
      apiUi: 'false',
      mcp: 'true',
      backupTarget: 'file:/srv/backups',
      backupSchedule: '0 3 * * *',
      backupKeep: '2d',
      backupLog: 'true',
      backupLogSeconds: 6,
      backupLogKeptBytes: 7_000_000,
      backupS3Endpoint: 'http://store:9000',
      backupS3Region: 'here',
      backupS3PathStyle: 'false',
      backupS3AccessKeyId: 'id',
      backupS3SecretAccessKey: 'secret',
      backupS3SessionToken: 'token',
      backupS3CredentialsFile: '/srv/credentials',
      backupS3Encryption: 'AES256',
      backupSecret: 'a-secret-of-backups',
      backupSecretOther: 'the-secret-before',
      backupBytesPerSecond: 65_537,
      shutdownTimeoutMs: 15,
    };
    const environment = Object.fromEntries(
      Object.entries(given).map(([field, value]) => [SETTINGS[field as keyof typeof SETTINGS].name, String(value)]),
    );
    expect(readConfig(environment, 2)).toEqual({
      ...given,
      trustedProxies: ['10.0.0.0/8'],
      embeddingModels: ['own/other', 'a/folder'],
      mcpOrigins: ['https://tools.example.com'],
      corsOrigins: ['https://app.example.com'],
    });
  });

  test.each(
    Object.values<Setting>(SETTINGS).filter((setting) => setting.kind === 'integer' || setting.kind === 'fraction'),
  )('$name accepts its limits and refuses what is past them or no number', (setting) => {
    const { minimum, maximum } = setting as Setting & { minimum: number; maximum: number };
    const rooms: Record<string, Record<string, string>> = {
      CHUNK_OVERLAP: { CHUNK_SIZE: '1000000' },
      CHUNK_SIZE: { CHUNK_OVERLAP: '0' },
    };
    const room = setting.name.startsWith('JWT_')
      ? { JWT_ISSUER: 'https://issuer.example', JWT_AUDIENCE: 'quiver' }
      : rooms[setting.name];
    for (const value of [minimum, maximum])
      expect(refusalOf({ ...room, [setting.name]: String(value) })).toBe('accepted');
    for (const value of [minimum - 1, maximum + 1, 'many', '0x10', '1e999', 'NaN', '1,000', ' ']) {
      const message = refusalOf({ ...room, [setting.name]: String(value) });
      expect(message).toContain(`${setting.name}="${value}" is not valid: expected`);
      expect(message).not.toContain('\n');
    }
  });

  test('proxies are networks', () => {
    expect(readConfig({ TRUSTED_PROXIES: ' 10.0.0.0/8 , ::1,' }, 1).trustedProxies).toEqual(['10.0.0.0/8', '::1']);
    expect(readConfig({ MCP_ORIGINS: ' https://A.example:443/ ,http://b.example:81,' }, 1).mcpOrigins).toEqual([
      'https://a.example',
      'http://b.example:81',
    ]);
    expect(refusalOf({ MCP_ORIGINS: 'tools.example.com' })).toBe(
      'MCP_ORIGINS="tools.example.com" is not valid: expected origins such as https://tools.example.com, separated by commas',
    );
    for (const origin of ['*', 'https://a.example/path', 'https://user@a.example', 'file:///x'])
      expect(refusalOf({ MCP_ORIGINS: origin })).toMatch(/^MCP_ORIGINS\b.* is not valid/);
    expect(refusalOf({ TRUSTED_PROXIES: '10.0.0.0/8,proxy' })).toBe(
      'TRUSTED_PROXIES="proxy" is not valid: expected networks such as 10.0.0.0/8, separated by commas',
    );
  });

  test('what has credentials is not shown', () => {
    const refusal = refusalOf({ LLM_BASE_URL: 'https://me:hidden@a.example/v1', LLM_MODELS: 'small' });
    expect(refusal).toMatch(/^LLM_BASE_URL is not valid: expected http/);
    expect(refusal).not.toContain('hidden');
  });

  test('pages of other origins are named, or all are meant', () => {
    expect(readConfig({ CORS_ORIGINS: ' https://A.example:443/ ,http://localhost:3000,' }, 1).corsOrigins).toEqual([
      'https://a.example',
      'http://localhost:3000',
    ]);
    expect(readConfig({ CORS_ORIGINS: '*' }, 1).corsOrigins).toEqual(['*']);
    for (const origin of ['app.example.com', 'https://*.example.com', 'https://a.example/path', 'null'])
      expect(refusalOf({ CORS_ORIGINS: origin })).toContain(`CORS_ORIGINS="${origin}" is not valid`);
  });

  test('the path of a proxy is a plain one, and none of the service’s own', () => {
    expect(readConfig({ BASE_PATH: '/tools/quiver/' }, 1).basePath).toBe('/tools/quiver');
    expect(readConfig({ BASE_PATH: '/' }, 1).basePath).toBe('');
    for (const path of [
      'tools',
      '//evil.example',
      '/a//b',
      '/a/../b',
      '/.',
      '/a b',
      '/a"',
      '/<script>',
      '/%2e',
      `/${'x'.repeat(300)}`,
    ])
      expect(refusalOf({ BASE_PATH: path })).toContain('expected a path such as /tools/quiver');
    for (const path of ['/v1', '/ui/x', '/docs', '/mcp'])
      expect(refusalOf({ BASE_PATH: path })).toContain("none of the service's own");
  });

  test('an overlap that is not below the chunk size is refused', () => {
    expect(refusalOf({ CHUNK_SIZE: '50' })).toBe(
      'CHUNK_OVERLAP="50" is not valid: expected an integer below CHUNK_SIZE (50)',
    );
  });

  test('an unknown log level is refused with the choices', () => {
    expect(refusalOf({ LOG_LEVEL: 'loud' })).toBe(
      'LOG_LEVEL="loud" is not valid: expected one of trace, debug, info, warn, error, fatal, silent',
    );
  });

  test.each([' padded', 'padded ', 'two\nlines', 'schlüssel', '\u0000'])(
    'an API key that no header can carry is refused without showing it: %j',
    (apiKey) => {
      const message = refusalOf({ API_KEY: apiKey });
      expect(message).toMatch(/^API_KEY is not valid: expected /);
      expect(message).not.toContain(apiKey.trim());
    },
  );

  test.each(['a', 'seven77', 'aaaaaaaa', '        x'])(
    'a secret that is no secret is refused without showing it: %j',
    (secret) => {
      expect(refusalOf({ API_KEY: secret })).toMatch(
        /^API_KEY is not valid: expected (at least 8 characters, not all the same|printable ASCII)/,
      );
      expect(() => readClusterConfig({ CLUSTER_SECRET: secret }, 'host')).toThrow(
        /^CLUSTER_SECRET is not valid: expected /,
      );
      expect(refusalOf({ API_KEY: 'tour-key' })).toBe('accepted');
    },
  );

  test.each([
    ['EMBEDDING_REVISION', '../main'],
    ['EMBEDDING_REVISION', 'a b'],
    ['EMBEDDING_SHA256', 'abc'],
    ['BACKUP_S3_ENDPOINT', 'http://store:70000'],
    ['BACKUP_S3_ENDPOINT', 'https://store:0/'],
    ['EMBEDDING_SHA256', 'AB'.repeat(32)],
    ['RERANK_REVISION', '../main'],
    ['RERANK_SHA256', 'abc'],
    ['RERANK_MODEL', 'a,a'],
    ['RERANK_MODEL', 'tei:http://host/rerank'],
    ['RERANK_MODEL', 'x=tei:ftp://host'],
    ['RERANK_MODEL', 'x=cohere:https://user:secret@host/'],
  ])('%s=%j is refused', (name, value) => {
    expect(refusalOf({ [name]: value })).toMatch(new RegExp(`^${name}(?:=.*)? is not valid: expected `));
  });

  test('EMBEDDING_PROVIDERS says what is wrong in it; a file is read by who calls them', () => {
    expect(refusalOf({ EMBEDDING_PROVIDERS: '{"a": {}}' })).toMatch(/^EMBEDDING_PROVIDERS is not valid: a\.url: /);
    expect(readConfig({ EMBEDDING_PROVIDERS: '/no/such/file' }, 1).embeddingProviders).toBe('/no/such/file');
  });

  test('EMBEDDING_DTYPE offers every format that a model may be kept in, in the order in which they are tried', () => {
    expect(SETTINGS.embeddingDtype.choices).toEqual(['auto', ...wantedVariants('auto')]);
  });
});

describe('configuration of a cluster member', () => {
  const GIVEN = {
    CLUSTER_SECRET: 'shared by all of them',
    ETCD_ENDPOINTS: 'http://a:2379, https://b:2379,c:2379',
    NODE_ID: 'node-1',
  };

  function refusal(environment: Record<string, string>): string {
    try {
      readClusterConfig(environment, 'host');
    } catch (error) {
      if (isQuiverError(error) && error.kind === 'invalid_parameter') return error.message;
      throw error;
    }
    return 'accepted';
  }

  test('reads are answered on as many threads as there are processors, at most 16, or as many as are set', () => {
    const threads = (cores: number, environment = {}): number =>
      readClusterConfig({ ...GIVEN, ...environment }, 'host', cores).readThreads;
    expect([threads(1), threads(2), threads(64), threads(2, { READ_THREADS: '5' })]).toEqual([1, 2, 16, 5]);
  });

  test('lists the endpoints and takes the host name where no name is given', () => {
    expect(readClusterConfig(GIVEN, 'host')).toMatchObject({
      etcdEndpoints: ['http://a:2379', 'https://b:2379', 'c:2379'],
      memberId: 'node-1',
      rpcPort: 7100,
    });
    expect(readClusterConfig({ CLUSTER_SECRET: 'sixteen letters!' }, 'host')).toMatchObject({
      etcdEndpoints: ['http://127.0.0.1:2379'],
      memberId: 'host',
      advertiseAddress: '',
    });
  });

  test.each([
    [{ CLUSTER_SECRET: '' }, 'CLUSTER_SECRET is not set'],
    [{ CLUSTER_SECRET: 'fifteen letters' }, 'CLUSTER_SECRET is not valid: expected at least 16 characters'],
    [{ CLUSTER_SECRET_OTHER: 'short' }, 'CLUSTER_SECRET_OTHER is not valid: expected at least 16 characters'],
    [{ CLUSTER_SEALS: 'never' }, 'CLUSTER_SEALS="never" is not valid: expected one of required, adopt'],
    [{ NODE_ID: 'a/b' }, 'NODE_ID="a/b" is not valid: expected at most 64 letters'],
    [{ ETCD_ENDPOINTS: 'ftp://a:1' }, 'ETCD_ENDPOINTS="ftp://a:1" is not valid: expected URLs'],
    [{ ETCD_ENDPOINTS: ' , ' }, 'ETCD_ENDPOINTS=" , " is not valid: expected URLs'],
    [{ ADVERTISE_ADDRESS: 'a b' }, 'ADVERTISE_ADDRESS="a b" is not valid: expected a host, or host:port'],
    [
      { ADVERTISE_ADDRESS: 'a:70000' },
      'ADVERTISE_ADDRESS="a:70000" is not valid: expected a host, or host:port, with a port from 1 to 65535',
    ],
    [
      { ADVERTISE_ADDRESS: '[::1]:0' },
      'ADVERTISE_ADDRESS="[::1]:0" is not valid: expected a host, or host:port, with a port from 1 to 65535',
    ],
    [{ ETCD_ENDPOINTS: 'a:2379,https://b:65536' }, 'ETCD_ENDPOINTS="https://b:65536" is not valid: expected URLs'],
    [{ TLS_CERT_FILE: 'x.pem' }, 'expected TLS_CA_FILE, TLS_CERT_FILE and TLS_KEY_FILE to be given together'],
    [{ TLS_SERVER_NAME: 'a name' }, 'TLS_SERVER_NAME="a name" is not valid: expected a host name'],
    [{ ETCD_KEY_FILE: 'x.pem' }, 'expected ETCD_CERT_FILE and ETCD_KEY_FILE to be given together'],
    [{ READ_THREADS: '0' }, 'READ_THREADS="0" is not valid: expected an integer from 1 to 64'],
    [{ READ_THREADS: '65' }, 'READ_THREADS="65" is not valid: expected an integer from 1 to 64'],
    [{ RPC_PORT: '70000' }, 'RPC_PORT="70000" is not valid: expected an integer'],
  ])('%p is refused in one line', (bad, message) => {
    expect(refusal({ ...GIVEN, ...bad })).toContain(message);
    expect(refusal({ ...GIVEN, ...bad })).not.toContain('\n');
  });

  test('a storage node has an operations port of its own by default', () => {
    expect(nodeEnvironment({}).OPS_PORT).toBe('9091');
    expect(nodeEnvironment({ OPS_PORT: '1' }).OPS_PORT).toBe('1');
  });
});
