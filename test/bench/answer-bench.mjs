import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { writeFigures } from './figures-file.mjs';
import { median } from './measure.mjs';
import { openQuiver } from './quiver-target.mjs';
import { seededRandom } from './seeded-random.mjs';

export const ANSWER_USAGE = `npm run bench -- answer [options]

What an answer takes besides its language model, which is scripted here: the passages and the prompt, a token's way from the
provider to the client, and the check of the quotes.

  --texts N          texts of the collection (20,000)
  --questions N      (100)
  --tokens N         of each answer, one every two milliseconds (200); each third sentence quotes
  --rerank MODEL     as RERANK_MODEL has it: passages are reranked, and the time without that is said, too
  --json FILE        everything measured, as JSON
`;

const SEED = 47;
const K = 8;
const PAIRS = 50;
const BATCH = 500;
const WORDS_OF_TEXT = 80;
const TOKEN_MS = 2;
const WORDS =
  'the of and in to was is for with on as by at from his that it an were are which this also be has had first one their its new after who they two her she been other when time during there into all year city school team world state over only most some would where later up national made many part film season out more family number music early game long well house war company day life work north south river water church second place song small village east west road line island white black king book'.split(
    ' ',
  );

export async function answerBench(words) {
  const { values } = parseArgs({
    args: words,
    options: {
      texts: { type: 'string', default: '20000' },
      questions: { type: 'string', default: '100' },
      tokens: { type: 'string', default: '200' },
      rerank: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(ANSWER_USAGE);
    return;
  }
  const provider = await startProvider(Number(values.tokens));
  const model = values.rerank === undefined ? '' : existsSync(values.rerank) ? resolve(values.rerank) : values.rerank;
  const settings = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => /^(?:EMBEDDING|RERANK)_/.test(name)),
  );
  const target = await openQuiver({
    environment: { ...settings, LLM_BASE_URL: provider.baseUrl, LLM_MODELS: 'scripted', RERANK_MODEL: model },
  });
  try {
    await target.server.start();
    const figures = await measured(target, { ...values, model });
    process.stdout.write(`\n${formatAnswerReport(figures)}`);
    if (values.json !== undefined) writeFigures(values.json, figures);
  } finally {
    await target.server.destroy();
    provider.close();
  }
}

async function measured(target, { texts, questions, model, rerank }) {
  const random = seededRandom(SEED);
  const textOf = (count) => Array.from({ length: count }, () => WORDS[Math.floor(random() * WORDS.length)]).join(' ');
  await target.createCollection({ dim: 384, metric: 'cosine', language: 'en' });
  for (let at = 0; at < Number(texts); at += BATCH) {
    const items = Array.from({ length: Math.min(BATCH, Number(texts) - at) }, (_, i) => ({
      external_id: `t${at + i}`,
      text: textOf(WORDS_OF_TEXT),
      metadata: { document_id: `d${Math.floor((at + i) / 20)}`, chunk_index: (at + i) % 20 },
    }));
    const { status, error } = await target.call('POST', target.bulkPath, { items });
    if (status !== 'success') throw new Error(JSON.stringify(error));
  }
  const ask = (more) => askOnce(target, { collection_name: 'bench', question: textOf(8), k: K, alpha: 0.5, ...more });
  for (let i = 0; i < 5; i++) await ask({});
  const plain = [];
  const reranked = [];
  for (let i = 0; i < Number(questions); i++) {
    plain.push(await ask({}));
    if (model !== '') reranked.push(await ask({ rerank: { top_n: PAIRS } }));
  }
  const passes = plain.flatMap((one) => one.passMs).sort((a, b) => a - b);
  const at = (share) => passes[Math.min(passes.length - 1, Math.floor(share * passes.length))];
  const all = [...plain, ...reranked];
  return {
    texts: Number(texts),
    questions: plain.length,
    rerankModel: rerank ?? null,
    retrievalMs: median(plain.map((one) => one.timing.retrieval_ms)),
    rerankedMs: reranked.length === 0 ? null : median(reranked.map((one) => one.timing.retrieval_ms)),
    firstTokenMs: median(plain.map((one) => one.timing.first_token_ms)),
    pass: { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: passes.at(-1), count: passes.length },
    checkingMs: median(all.map((one) => one.timing.checking_ms)),
    checkingMaxMs: Math.max(...all.map((one) => one.timing.checking_ms)),
    citations: median(all.map((one) => one.citations)),
  };
}

/** An answer as it comes, and how long each of its tokens was on the way. */
async function askOnce(target, body) {
  const response = await fetch(`http://${target.address.host}:${target.address.port}/v1/answer`, {
    method: 'POST',
    headers: { ...target.headers, 'content-type': 'application/json' },
    body: JSON.stringify({ ...body, stream: true }),
  });
  const decoder = new TextDecoder();
  const passMs = [];
  let text = '';
  let last = null;
  for await (const piece of response.body ?? []) {
    const nowMs = performance.now();
    text += decoder.decode(piece, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const [name, data = ''] = block.split('\n');
      if (name === 'event: envelope') last = JSON.parse(data.slice('data: '.length));
      // A token is the time at which it was sent.
      if (name === 'event: text')
        for (const [sent] of JSON.parse(data.slice('data: '.length)).text.matchAll(/\d+\.\d{3}/g))
          passMs.push(nowMs - Number(sent));
    }
  }
  if (last?.status !== 'success') throw new Error(JSON.stringify(last?.error));
  const citations = last.data.sentences.reduce((sum, sentence) => sum + sentence.citations.length, 0);
  return { passMs, timing: last.data.timing_ms, citations };
}

/** Speaks OpenAI's protocol; its tokens are the times at which they are sent, by this process's clock. */
async function startProvider(tokens) {
  const serve = async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const { messages } = JSON.parse(Buffer.concat(pieces).toString('utf8'));
    const passages = [...messages.at(-1).content.matchAll(/^\[passage (\d+) \w+\]\n(.*)$/gm)];
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const say = (content, finish = null) =>
      response.write(`data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason: finish }] })}\n\n`);
    for (let i = 0; i < tokens; i++) {
      await new Promise((wake) => setTimeout(wake, TOKEN_MS));
      say(`${performance.now().toFixed(3)} `);
      if (i % 10 !== 9) continue;
      const [, number, text] = passages[i % passages.length];
      const from = (i * 7) % 40;
      say(
        `end. <cite n="${number}">${text
          .split(' ')
          .slice(from, from + 8)
          .join(' ')}</cite> `,
      );
    }
    say('', 'stop');
    response.end('data: [DONE]\n\n');
  };
  const server = createServer((request, response) => void serve(request, response));
  await new Promise((ready) => server.listen(0, '127.0.0.1', () => ready(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { baseUrl: `http://127.0.0.1:${port}/v1`, close: () => server.close() };
}

export function formatAnswerReport({
  texts,
  questions,
  rerankModel,
  retrievalMs,
  rerankedMs,
  firstTokenMs,
  pass,
  checkingMs,
  checkingMaxMs,
  citations,
}) {
  const ms = (value) => `${value.toFixed(2)} ms`;
  return `${[
    `${questions} questions to ${texts} texts, ${K} passages each`,
    '',
    `passages and prompt: ${ms(retrievalMs)}${rerankedMs === null ? '' : `; ${ms(rerankedMs)} with ${PAIRS} texts reranked by ${rerankModel}`}`,
    `first token of the provider: ${ms(firstTokenMs)} after its call`,
    `a token's way: p50 ${ms(pass.p50Ms)}, p99 ${ms(pass.p99Ms)}, most ${ms(pass.maxMs)} of ${pass.count}`,
    `check of ${citations} quotes: ${ms(checkingMs)}, most ${ms(checkingMaxMs)}`,
  ].join('\n')}\n`;
}
