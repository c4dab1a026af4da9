import { AnswerMemory } from '../../../../../coordinator/api/load/answer-memory';
import { overloadBounds } from '../../../../../coordinator/api/http/http-server';
import { eventually } from '../../../../support/eventually';
import { type PlainServer, startPlainServer } from '../../../../support/servers/plain-server';

let server: PlainServer;
afterEach(() => server.stop());

test('a request that waited for room and is then refused gives its place back', async () => {
  const memory = new AnswerMemory({ bytesMax: 8_000, metadataBytesMax: 100, textBytesMax: 100, waitMs: 60_000 });
  const holds = jest.spyOn(memory, 'holdOf');
  const waits = jest.spyOn(memory, 'wait');
  // With no place for requests, each is refused by the gate.
  server = await startPlainServer(
    {},
    { answerMemory: memory, overload: { ...overloadBounds({ bodyBytesMax: 1_000 }), requestsMax: 0 } },
  );
  const search = async (): Promise<number> => {
    const headers = { 'x-api-key': server.adminKey, 'content-type': 'application/json' };
    const response = await fetch(`${server.baseUrl}/v1/collections/c/search`, {
      method: 'POST',
      headers,
      body: '{"vector":[1],"k":1}',
    });
    return ((await response.json()) as { error: { code: number } }).error.code;
  };
  expect(await search()).toBe(429);
  const [[{ caller }]] = holds.mock.calls;
  const other = memory.holdOf({ caller, isGone: false, begunMs: null });
  other.sending(6_000);
  const waiting = search();
  await eventually('the request waits', () => waits.mock.calls.length === 1);
  other.sending(0);
  expect(await waiting).toBe(429);
  expect(memory.bytes).toBe(0);
});
