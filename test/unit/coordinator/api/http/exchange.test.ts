import { AnswerMemory } from '../../../../../coordinator/api/load/answer-memory';
import * as slices from '../../../../../shared/base/time/work-slices';
import { eventually } from '../../../../support/eventually';
import { type PlainServer, startPlainServer } from '../../../../support/servers/plain-server';

jest.mock('../../../../../shared/base/time/work-slices', () => ({
  __esModule: true,
  ...jest.requireActual<object>('../../../../../shared/base/time/work-slices'),
}));

const BYTES_MAX = 64 * 1024 * 1024;
const LONG = 'x'.repeat(128 * 1024);

let server: PlainServer;
let memory: AnswerMemory;

beforeEach(async () => {
  memory = new AnswerMemory({ bytesMax: BYTES_MAX, metadataBytesMax: 256 * 1024, textBytesMax: 1024, waitMs: 10 });
  server = await startPlainServer(
    { RATE_LIMIT_PER_MINUTE: '0', MAX_METADATA_BYTES: String(256 * 1024) },
    { answerMemory: memory },
  );
  await call('POST', '/v1/collections', { name: 'c', dim: 2 });
  await call('POST', '/v1/collections/c/upsert', { external_id: 'long', vector: [1, 2], metadata: { long: LONG } });
  expect(server.answered.map(({ code }) => code)).toEqual([200, 200]);
  server.answered.length = 0;
});

afterEach(async () => {
  jest.restoreAllMocks();
  await server.stop();
});

async function call(method: string, path: string, body?: unknown): Promise<number> {
  const response = await fetch(`${server.baseUrl}${path}`, {
    method,
    headers: { 'x-api-key': server.adminKey, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const { status, error } = (await response.json()) as { status: string; error: { code: number } | null };
  return status === 'success' ? 200 : error!.code;
}

/** As in a round of the event loop that has had its time. */
function crowd(): jest.SpyInstance {
  return jest.spyOn(slices, 'ownTurn').mockImplementation(() => new Promise((next) => setImmediate(next)));
}

const ASKED: Record<'item' | 'search', [string, string, unknown?]> = {
  item: ['GET', '/v1/collections/c/vectors/long'],
  search: ['POST', '/v1/collections/c/search', { vector: [1, 2], k: 1 }],
};

test.each(Object.keys(ASKED) as (keyof typeof ASKED)[])(
  'a long %s that waits for its turn is answered, and observed once it was',
  async (name) => {
    const turns = crowd();
    expect(await call(...ASKED[name])).toBe(200);
    await eventually('the request is observed', () => server.answered.length === 1);
    expect(turns).toHaveBeenCalled();
    expect(server.answered[0].code).toBe(200);
    expect(memory.bytes).toBe(0);
  },
);

test('what is refused in its turn is observed as refused', async () => {
  crowd();
  const takes = jest
    .spyOn(Object.getPrototypeOf(memory.holdOf({ caller: 'a', isGone: false, begunMs: null })), 'takes')
    .mockReturnValue(false);
  expect(await call(...ASKED.item)).toBe(429);
  expect(takes).toHaveBeenCalled();
  await eventually('the request is observed', () => server.answered.length === 1);
  expect(server.answered[0].code).toBe(429);
});

test('a caller that holds little gets long hits beside a deep read, in a quiet round and in a crowded one', async () => {
  memory.holdOf({ caller: 'other', isGone: false, begunMs: null }).keep(BYTES_MAX);
  const small = ASKED.search[2];
  await call('POST', '/v1/collections/c/upsert', {
    external_id: 'long',
    vector: [1, 2],
    metadata: { long: 'x'.repeat(40 * 1024) },
  });
  expect(await call('POST', '/v1/collections/c/search', small)).toBe(200);
  crowd();
  expect(await call('POST', '/v1/collections/c/search', small)).toBe(200);
});
