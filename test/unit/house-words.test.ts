import { handWrittenCode } from '../support/tracked-files';

/** One word for one idea: what was once called so and is called otherwise now. */
const RETIRED: Record<string, string> = {
  BodyParser: 'BodyScanner, BodyReader',
  CallNotes: 'CallProfile',
  circumstances: 'input',
  ConnectionGate: 'ConnectionAdmission',
  ControllerOffice: 'ControllerLeadership',
  DeepSearches: 'DeepReads',
  DriverOffice: 'DriverLeadership',
  Endings: 'ShutdownStack',
  FieldQuestion: 'FieldFactsRequest',
  FrontCredentials: 'ThreadCredentials',
  FrontRoutes: 'HttpThreadRoutes',
  FrontShards: 'HttpThreadShards',
  FrontThreads: 'HttpThreads',
  heed: 'handle',
  heeded: 'handled',
  JsonBodyParser: 'BodyReader',
  KeyQuotaGate: 'KeyQuotaAdmission',
  LogMark: 'LogWatermark',
  LogPlace: 'TimedLogPosition',
  MaintenanceCircumstances: 'MaintenanceInput',
  manner: 'options, mode',
  ManifestMark: 'ManifestWatermark',
  MarkOperation: 'DedupOperation',
  MarkRecord: 'DedupRecord',
  MemberGate: 'MemberAdmission',
  MetadataPlace: 'MetadataStorage',
  NativeBodyParser: 'NativeBodyScanner',
  NotedCall: 'ServedProfile',
  NotedShards: 'ProfiledShards',
  office: 'leadership',
  QuestionService: 'LossyRequestService',
  QuestionStream: 'LossyRequestStream',
  QuotaGate: 'QuotaAdmission',
  ReadCall: 'AnyRead',
  ReadResult: 'ReadAnswer',
  ReplicaSurroundings: 'ReplicaDependencies',
  ShardNote: 'ProfiledCall',
  ShardPlace: 'ShardLifecycle',
  StoreMark: 'StoreDedup',
  StreamGate: 'StreamAdmission',
  surroundings: 'dependencies',
  SyncedMark: 'SyncedWatermark',
  ToldLogs: 'ReportedLogs',
  ToldRoutes: 'RoutePublisher',
  UpsertManner: 'UpsertOptions',
  VectorPlace: 'VectorStorage',
  WholeRequests: 'FastPathRequests',
  WriteManner: 'WriteOptions',
};

/**
 * The places that use a word, as `path:line`. A word with a capital is a name, met as a whole; one without is met as
 * any word of a name (`noted` in `NotedShards`, `noted_shards`) and of a text, also of a comment.
 */
function uses(word: string, files: { path: string; text: string }[]): string[] {
  const isName = /[A-Z]/.test(word);
  const [first, rest] = [word[0], word.slice(1)];
  const asWord = isName
    ? new RegExp(`\\b${word}\\b`)
    : new RegExp(
        `(?<![a-z])${word}(?![a-z])|(?<![A-Z])${first.toUpperCase()}${rest}(?![a-z])|(?<![A-Za-z])${word.toUpperCase()}(?![A-Za-z])`,
      );
  return files.flatMap(({ path, text }) => {
    if (!asWord.test(text)) return [];
    return text.split('\n').flatMap((line, i) => (asWord.test(line) ? [`${path}:${i + 1}`] : []));
  });
}

test('a word is met in names, in messages and in constants, in comments, and not within another word', () => {
  const text = [
    'class NotedShards {}',
    'const askNoted = 1;',
    'noted_shards();',
    "throw new Error('it was noted twice');",
    'NOTED_MAX',
    'denoted();',
    'unnotedly();',
    '// noted here',
    '/* noted\n noted */',
  ].join('\n');
  expect(uses('noted', [{ path: 'a', text }])).toEqual(['a:1', 'a:2', 'a:3', 'a:4', 'a:5', 'a:8', 'a:9', 'a:10']);
  expect(uses('NotedShards', [{ path: 'a', text: 'class NotedShards {}\nNotedShardsOfNode' }])).toEqual(['a:1']);
});

test('words that are retired stay so, in every language', () => {
  const files = handWrittenCode().filter(({ path }) => path !== 'test/unit/house-words.test.ts');
  for (const ending of ['.ts', '.tsx', '.cc', '.h', '.py', '.proto'])
    expect(files.some(({ path }) => path.endsWith(ending))).toBe(true);
  const found = Object.entries(RETIRED).flatMap(([word, instead]) =>
    uses(word, files).map((place) => `${place} says ${word}; say ${instead}`),
  );
  expect(found).toEqual([]);
});
