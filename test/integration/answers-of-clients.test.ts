import { type AnswerEvent, BadRequestError, QuiverClient, ServerError } from '../../clients/typescript/src/index';
import { eventually } from '../support/eventually';
import { CommandLine } from '../support/processes/command-line';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { gate, ScriptedLlm } from '../support/servers/scripted-llm';

/** What users of answers call: the TypeScript client and `quiver ask`, against a service whose model is scripted. */

const SNOW = 'Snow melts in the mountains, and so rivers flood in spring.';
const QUESTION = 'When do rivers flood?';

let llm: ScriptedLlm;
let server: EmbeddedProcess;
let client: QuiverClient;
let cli: CommandLine;

beforeAll(async () => {
  llm = await ScriptedLlm.start();
  server = new EmbeddedProcess({ environment: { LLM_BASE_URL: llm.baseUrl, LLM_MODELS: 'small, large' } });
  await server.start();
  client = new QuiverClient({ url: server.baseUrl, apiKey: server.apiKey });
  cli = new CommandLine({ QUIVER_URL: server.baseUrl, QUIVER_API_KEY: server.apiKey });
  await client.createCollection({ name: 'rivers', dim: 64 });
  await client.collection('rivers').bulkUpsert([
    { external_id: 'a', text: SNOW, metadata: { document_id: 'book', chunk_index: 0, page: 3, n: 1 } },
    { external_id: 'b', text: 'A café by the river sells maps.', metadata: { n: 2 } },
  ]);
});
afterAll(async () => {
  cli?.remove();
  await server?.destroy();
  await llm?.close();
});

const request = { collection_name: 'rivers', question: QUESTION, k: 1, filters: { n: 1 } };
const TEXT = [
  'Rivers flood ',
  'in spring. <cite n="1">rivers fl',
  'ood in spring</cite> ',
  'Nobody knows why. ',
  'Really.',
];

/** A script that waits at one part until the gate is opened. */
function heldAt(part: number): { held: ReturnType<typeof gate>; script: typeof llm.script } {
  const held = gate();
  return { held, script: { text: TEXT, before: (at) => (at === part ? held.opened : undefined) } };
}

describe('the TypeScript client', () => {
  test('streams the sources, the text while it is written, and last the whole', async () => {
    const { held, script } = heldAt(3);
    llm.script = script;
    const events: AnswerEvent[] = [];
    for await (const event of client.answerStream(request)) {
      events.push(event);
      // Its first words are there while the model waits.
      if (event.type === 'text') held.open();
    }
    expect(events[0]).toMatchObject({ type: 'sources', sources: [{ external_id: 'a', text: SNOW, page: 3 }] });
    const texts = events.slice(1, -1);
    const last = events.at(-1) as Extract<AnswerEvent, { type: 'answer' }>;
    expect(texts.map(({ type }) => type)).toEqual(texts.map(() => 'text'));
    expect(texts.map((event) => (event as { text: string }).text).join('')).toBe(last.answer.answer);
    expect(last.answer.sentences).toMatchObject([
      { text: 'Rivers flood in spring.', citations: [{ external_id: 'a', quote: 'rivers flood in spring' }] },
      { text: 'Nobody knows why.', citations: [], unsupported: true },
      { text: 'Really.', citations: [], unsupported: true },
    ]);
    llm.script = { text: TEXT };
    const { timing_ms: _timing, ...whole } = await client.answer(request);
    expect(last.answer).toMatchObject({ ...whole, usage: expect.any(Object) });
  });

  test('who leaves a stream ends the call of the model', async () => {
    const { held, script } = heldAt(3);
    llm.script = script;
    const { abandoned } = llm;
    for await (const event of client.answerStream(request)) if (event.type === 'text') break;
    await eventually('the call of the model ends', () => llm.abandoned === abandoned + 1);
    held.open();
    const stop = new AbortController();
    const again = heldAt(3);
    llm.script = again.script;
    const left = async (): Promise<void> => {
      for await (const event of client.answerStream(request, { signal: stop.signal }))
        if (event.type === 'text') stop.abort(new Error('enough'));
    };
    await expect(left()).rejects.toThrow('enough');
    await eventually('the call of the model ends', () => llm.abandoned === abandoned + 2);
    again.held.open();
  });

  test('throws what the service says no with, before and while the model writes', async () => {
    const all = async (more: object = {}): Promise<AnswerEvent[]> => {
      const events: AnswerEvent[] = [];
      for await (const event of client.answerStream({ ...request, ...more })) events.push(event);
      return events;
    };
    await expect(all({ model: 'huge' })).rejects.toBeInstanceOf(BadRequestError);
    await expect(all({ collection_name: 'absent' })).rejects.toMatchObject({ code: 404 });
    llm.script = { status: 400, raw: ['{"error":{"message":"no such model, sorry"}}'] };
    await expect(all()).rejects.toThrow(/no such model, sorry/);
    llm.script = { text: ['Rivers flood in spring. '], finish: null, isDone: false, end: 'cut' };
    await expect(all()).rejects.toBeInstanceOf(ServerError);
    expect(await all({ filters: { n: 99 } })).toMatchObject([
      { type: 'answer', answer: { refused: true, sources: [] } },
    ]);
  });
});

describe('quiver ask', () => {
  const ask = (...more: string[]): string[] => ['ask', 'rivers', 'When', 'do', 'rivers', 'flood?', ...more];

  test('prints the answer, and under each sentence what supports it', async () => {
    llm.script = { text: TEXT, finish: 'length' };
    const { output, messages } = await cli.succeed(ask('-k', '1', '--where', 'n = 1'));
    expect(output).toBe(
      'Rivers flood in spring. Nobody knows why. Really.\n' +
        '\nRivers flood in spring.\n  “rivers flood in spring” (a, page 3)\n' +
        '\nNobody knows why.\n  no support was found\n' +
        '\nReally.\n  no support was found\n',
    );
    expect(messages).toBe('the model stopped early: length\n');
    expect(llm.prompt).toContain(QUESTION);
  });

  test('says where a quote stands: the file of the folder, the page and the headings', async () => {
    const place = { document_key: 'law/book.pdf', source: 'book.pdf', page: 12, headings: ['2 Ice', '2.1 Melt'] };
    const metadata = { n: 77, document_id: 'law', chunk_index: 4, ...place };
    await client.collection('rivers').upsert({ external_id: 'placed', text: SNOW, metadata });
    llm.script = { text: TEXT };
    const { output } = await cli.succeed(ask('-k', '1', '--where', 'n = 77'));
    expect(output).toContain('  “rivers flood in spring” (law/book.pdf, page 12, 2 Ice › 2.1 Melt)\n');
    await client.collection('rivers').delete('placed');
  });

  test('prints JSON in one piece, and asks the model that is named', async () => {
    llm.script = { text: TEXT };
    const { output } = await cli.succeed(
      ask('--json', '--model', 'large', '--max-tokens', '9', '--expand', '1', '--filter', '{"n": 1}'),
    );
    expect(JSON.parse(output)).toMatchObject({ model: 'large', sources: [{ external_id: 'a' }], dropped_quotes: 0 });
    expect(llm.last.body).toMatchObject({ model: 'large', max_tokens: 9 });
  });

  test('signs of a model that would move the cursor are shown, not done', async () => {
    llm.script = { text: ['Red \u001b[31m text.'] };
    expect((await cli.succeed(ask())).output).toContain('Red \\x1b[31m text.');
  });

  test('says what is wrong, by its exit code, too', async () => {
    const before = llm.requests.length;
    expect(await cli.run(ask('--model', 'huge'))).toMatchObject({
      code: 1,
      messages: expect.stringContaining('small'),
    });
    expect(await cli.run(['ask', 'absent', 'why?'])).toMatchObject({ code: 5 });
    expect(await cli.run(ask('-k', '0'))).toMatchObject({ code: 2 });
    expect(await cli.run(ask('--where', 'n = 99'))).toMatchObject({
      code: 0,
      output: '',
      messages: 'nothing relevant was found, and no model was asked\n',
    });
    expect(llm.requests).toHaveLength(before);
    llm.script = { text: ['Rivers flood in spring. '], finish: null, isDone: false, end: 'cut' };
    expect(await cli.run(ask())).toMatchObject({
      code: 1,
      messages: expect.stringMatching(/broke off|does not answer/),
    });
  });

  test('is interrupted while the model writes, and the call of the model ends', async () => {
    llm.script = { text: ['Rivers flood in spring. ', 'Often. '], finish: null, isDone: false, end: 'hang' };
    const { abandoned } = llm;
    const { child, outcome } = cli.start(ask());
    let written = '';
    child.stdout!.on('data', (text: string) => (written += text));
    await eventually('it prints', () => written.includes('Rivers'));
    child.kill('SIGINT');
    expect(await outcome).toMatchObject({ code: 130 });
    await eventually('the call of the model ends', () => llm.abandoned === abandoned + 1);
  });
});
