import { configuredModels, languageModelOf } from '../../../../../coordinator/models/language/configured-models';
import type { ChatStream } from '../../../../../coordinator/models/language/language-model';
import { ScriptedLlm } from '../../../../support/servers/scripted-llm';
import { eventually } from '../../../../support/eventually';

const REQUEST = { model: 'small', messages: [{ role: 'user' as const, content: 'Hello' }], tokensMax: 10 };

describe('a chat of a server that speaks OpenAI’s protocol', () => {
  let llm: ScriptedLlm;
  beforeAll(async () => {
    llm = await ScriptedLlm.start();
  });
  afterAll(() => llm.close());
  afterEach(() => jest.useRealTimers());

  const modelsOf = (more: object = {}) =>
    configuredModels({
      llmBaseUrl: `${llm.baseUrl}/`,
      llmApiKey: undefined,
      llmTimeoutMs: 60_000,
      llmCalls: 2,
      ...more,
    });

  async function whole(stream: ChatStream): Promise<{ text: string; end: unknown }> {
    let text = '';
    for (;;) {
      const { done, value } = await stream.next();
      if (done === true) throw new Error('it ended without an end');
      text += value.text;
      if (value.end !== undefined) return { text, end: value.end };
    }
  }

  test('says what was written, why it ended and what it took; no key is sent where there is none', async () => {
    llm.script = { text: ['a', 'b', 'c'], finish: 'length', usage: { prompt_tokens: 3, completion_tokens: 4 } };
    expect(await whole(await modelsOf().chat(REQUEST))).toEqual({
      text: 'abc',
      end: { finish: 'length', usage: { promptTokens: 3, completionTokens: 4 } },
    });
    expect(llm.last.path).toBe('/v1/chat/completions');
    expect(llm.last.headers.authorization).toBeUndefined();
  });

  test('what is there when the time is over is the answer; without any, that is said', async () => {
    jest.useFakeTimers({
      doNotFake: ['nextTick', 'setImmediate', 'setInterval', 'queueMicrotask', 'performance', 'Date'],
    });
    const { abandoned } = llm;
    llm.script = { text: ['some'], end: 'hang', finish: null, isDone: false };
    const stream = await modelsOf().chat(REQUEST);
    expect(await stream.next()).toEqual({ done: false, value: { text: 'some' } });
    const next = stream.next();
    jest.advanceTimersByTime(60_000);
    expect(await next).toEqual({ done: false, value: { text: '', end: { finish: 'deadline', usage: null } } });
    const asked = llm.requests.length;
    llm.script = { text: [], end: 'hang', finish: null, isDone: false };
    const silent = await modelsOf().chat(REQUEST);
    while (llm.requests.length === asked) await new Promise((resolve) => setImmediate(resolve));
    jest.advanceTimersByTime(60_000);
    await expect(silent.next()).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('60000 ms'),
      details: { spent: 'all' },
    });
    jest.useRealTimers();
    await eventually('both calls are ended', () => llm.abandoned === abandoned + 2);
  });

  test('an end is one, where the connection is held behind it', async () => {
    jest.useFakeTimers({
      doNotFake: ['nextTick', 'setImmediate', 'setInterval', 'queueMicrotask', 'performance', 'Date'],
    });
    llm.script = { text: ['some'], end: 'hang', isDone: false, usage: { prompt_tokens: 3, completion_tokens: 4 } };
    const stream = await modelsOf().chat(REQUEST);
    expect(await stream.next()).toEqual({ done: false, value: { text: 'some' } });
    const next = stream.next();
    // The timer is set when the end has come.
    while (jest.getTimerCount() < 2) await new Promise((resolve) => setImmediate(resolve));
    jest.advanceTimersByTime(1_000);
    expect((await next).value).toMatchObject({ text: '', end: { finish: 'stop' } });
  });

  test.each([
    ['nothing', { status: 500, raw: ['{}'] }, null],
    ['prompt', { text: [], finish: null, isDone: false }, null],
    [
      'prompt',
      {
        text: [],
        finish: null,
        usage: { prompt_tokens: 3, completion_tokens: 4 },
        isDone: false,
      },
      { promptTokens: 3, completionTokens: 4 },
    ],
  ])('a failure says that it has used %s', async (spent, script, usage) => {
    llm.script = script;
    const stream = await modelsOf().chat(REQUEST);
    await expect(stream.next()).rejects.toMatchObject({ details: { spent, usage } });
  });

  test('who does not want the rest gets none, also while it is waited for', async () => {
    const { abandoned } = llm;
    llm.script = { text: ['some'], end: 'hang', finish: null, isDone: false };
    const stream = await modelsOf().chat(REQUEST);
    await stream.next();
    const next = stream.next();
    await stream.return();
    expect((await next).done).toBe(true);
    expect((await stream.next()).done).toBe(true);
    await eventually('the call is ended', () => llm.abandoned === abandoned + 1);
  });

  test('only so many are under way', async () => {
    llm.script = { text: ['some'], end: 'hang', finish: null, isDone: false };
    const models = modelsOf();
    const streams = [await models.chat(REQUEST), await models.chat(REQUEST)];
    await expect(models.chat(REQUEST)).rejects.toMatchObject({ kind: 'overloaded' });
    await streams[0].next();
    await streams[0].return();
    await eventually('one is over', async () => {
      const more = await models.chat(REQUEST).catch(() => null);
      await more?.return();
      return more !== null;
    });
    await models.close();
    expect((await streams[1].next()).done).toBe(true);
  });

  test('the model of a request', () => {
    const config = { llmBaseUrl: llm.baseUrl, llmModels: 'small, large' };
    expect(languageModelOf(config, undefined)).toBe('small');
    expect(languageModelOf(config, 'large')).toBe('large');
    expect(() => languageModelOf(config, 'other')).toThrow('"other"; there are: small, large');
    expect(() => languageModelOf({ llmBaseUrl: '', llmModels: '' }, undefined)).toThrow('LLM_BASE_URL is not set');
  });
});
