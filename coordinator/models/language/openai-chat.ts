import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import { modelFailure } from '../transformers/model-failure';
import { eventData } from './event-data';
import type { ChatFinish, ChatPiece, ChatRequest, ChatStream, SpentDetails, TokenUsage } from './language-model';

export interface ChatProvider {
  /** Of chat completions. */
  url: string;
  /** '': none is sent. */
  apiKey: string;
  timeoutMs: number;
}

/** Characters of an answer for each of its tokens, and bytes around each: more is no answer to what was asked. */
const TOKEN_CHARACTERS_MAX = 32;
const TOKEN_BYTES_MAX = 4096;
const STREAM_BYTES_MIN = 1024 * 1024;
/** Of an answer that says what went wrong. */
const ERROR_BYTES_MAX = 64 * 1024;
const ERROR_CHARACTERS_SHOWN = 500;

/** So many characters at the beginning of a key, and what is around them, are not shown. */
const KEY_CHARACTERS_SHOWN_MAX = 5;
/** What a provider has made unreadable in part, such as a key. */
const MASKED = /\*{2}|•{2}|x{6}/;

/** What may come behind the end of an answer, its usage, is waited for so long. */
const AFTER_END_MS = 1_000;

const DONE = '[DONE]';
const OVER: IteratorResult<ChatPiece, undefined> = { done: true, value: undefined };

/** The choice of a chunk, or of a whole answer, as far as it is looked at. */
interface Choice {
  delta?: { content?: unknown } | null;
  message?: { content?: unknown } | null;
  finish_reason?: unknown;
}

/**
 * One answer of a server that speaks OpenAI's protocol, streamed. It is read as it comes, whether or not anybody asks
 * for more: it is short, and bounded. The connection ends when the time is over, or nobody wants the rest.
 */
export class OpenAiChat implements ChatStream {
  private readonly abort = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private text = '';
  private characters = 0;
  private usage: TokenUsage | null = null;
  private spent: SpentDetails['spent'] = 'nothing';
  private endTimer: NodeJS.Timeout | null = null;
  private finish: ChatFinish | null = null;
  private failure: unknown = null;
  /** What the provider does, the deadline, or who does not want more. */
  private state: 'running' | 'ended' | 'over' = 'running';
  private wake: () => void = () => undefined;
  private readonly charactersMax: number;
  private readonly bytesMax: number;

  /** Calls the provider. `done` is called once, when the call is over. */
  constructor(
    private readonly provider: ChatProvider,
    private readonly request: ChatRequest,
    private readonly done: () => void,
  ) {
    this.charactersMax = TOKEN_CHARACTERS_MAX * request.tokensMax;
    this.bytesMax = STREAM_BYTES_MIN + TOKEN_BYTES_MAX * request.tokensMax;
    this.timer = setTimeout(() => this.expire(), provider.timeoutMs);
    void this.run();
  }

  async next(): Promise<IteratorResult<ChatPiece, undefined>> {
    while (this.state === 'running' && this.text === '')
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    if (this.state === 'over') return OVER;
    const { text } = this;
    this.text = '';
    if (this.state === 'running') return { done: false, value: { text } };
    if (this.failure !== null && text !== '') return { done: false, value: { text } };
    this.state = 'over';
    if (this.failure !== null) throw this.failure;
    return { done: false, value: { text, end: { finish: this.finish ?? 'stop', usage: this.usage } } };
  }

  async return(): Promise<IteratorResult<ChatPiece, undefined>> {
    this.state = 'over';
    this.abort.abort();
    this.wake();
    return OVER;
  }

  private async run(): Promise<void> {
    let failure: unknown = null;
    try {
      await this.read();
    } catch (error) {
      failure = isQuiverError(error) ? error : new QuiverError('unavailable', this.brokenMessage(), { cause: error });
    }
    clearTimeout(this.timer);
    if (this.endTimer !== null) clearTimeout(this.endTimer);
    // What comes after an end, as the end of the connection, is none.
    this.end(failure);
    this.abort.abort();
    this.done();
  }

  private brokenMessage(): string {
    return this.characters === 0
      ? 'The language model does not answer; the call may be retried'
      : `The language model broke off after ${this.characters} characters; the call may be retried`;
  }

  private end(failure: unknown): void {
    if (this.state !== 'running') return;
    this.failure = isQuiverError(failure) ? this.withSpent(failure) : failure;
    this.state = 'ended';
    this.wake();
  }

  private withSpent({ kind, message, cause, details }: QuiverError): QuiverError {
    const spent: SpentDetails = { spent: this.spent, usage: this.usage };
    return new QuiverError(kind, message, { cause, details: { ...details, ...spent } });
  }

  /** The time is over: what is there by now is the answer. */
  private expire(): void {
    if (this.characters > 0) this.finish ??= 'deadline';
    this.spent = 'all';
    const late = new QuiverError(
      'unavailable',
      `The language model wrote nothing within ${this.provider.timeoutMs} ms (LLM_TIMEOUT_MS); the call may be retried`,
    );
    this.end(this.characters > 0 ? null : late);
    this.abort.abort();
  }

  private async read(): Promise<void> {
    const { url, apiKey } = this.provider;
    const { model, messages, tokensMax } = this.request;
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        ...(apiKey !== '' && { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify({
        model,
        messages,
        temperature: 0,
        max_tokens: tokensMax,
        stream: true,
        stream_options: { include_usage: true },
      }),
      redirect: 'error',
      signal: this.abort.signal,
    });
    if (!response.ok) throw await this.refusal(response);
    this.spent = 'prompt';
    const body = (response.body ?? []) as AsyncIterable<Uint8Array>;
    if (/^application\/json\b/i.test(response.headers.get('content-type') ?? '')) {
      const whole = parsed(await boundedText(body, this.bytesMax));
      this.takeChunk(whole);
      if (this.finish === null) this.finish = 'stop';
      return;
    }
    for await (const { data, isClosed } of eventData(body, this.bytesMax)) {
      if (data.trim() === DONE) {
        this.finish ??= 'stop';
        return;
      }
      this.takeChunk(parsed(data, isClosed ? undefined : this.brokenMessage()));
      if (this.state !== 'running') return;
    }
    if (this.finish === null) throw new QuiverError('unavailable', this.brokenMessage());
  }

  /** Takes a part of an answer, or a whole one. Errors: embedding_unavailable, unavailable. */
  private takeChunk(chunk: Record<string, unknown>): void {
    if (chunk.error !== undefined && chunk.error !== null)
      throw new QuiverError('unavailable', `The language model fails: ${this.said(messageIn(chunk))}`);
    this.usage = usageIn(chunk.usage) ?? this.usage;
    const [choice] = (Array.isArray(chunk.choices) ? chunk.choices : []) as (Choice | null | undefined)[];
    if (choice === undefined || choice === null) return;
    const content = choice.delta?.content ?? choice.message?.content ?? '';
    if (typeof content !== 'string') throw modelFailure('The language model answers what is no text');
    const room = this.charactersMax - this.characters;
    const text = content.slice(0, room);
    this.text += text;
    this.characters += text.length;
    const reason = choice.finish_reason;
    if (typeof reason === 'string') {
      this.finish = finishOf(reason);
      // Some hold the connection then, and never say that it is done.
      this.endTimer ??= setTimeout(() => {
        this.end(null);
        this.abort.abort();
      }, AFTER_END_MS);
    }
    if (content.length > room) {
      // More tokens than it was to write.
      this.finish = 'length';
      this.end(null);
    } else if (text !== '') {
      this.wake();
    }
  }

  private async refusal(response: Response): Promise<QuiverError> {
    const text = await boundedText((response.body ?? []) as AsyncIterable<Uint8Array>, ERROR_BYTES_MAX).catch(() => '');
    let said = text;
    try {
      said = messageIn(JSON.parse(text) as Record<string, unknown>);
    } catch {
      // It is no JSON, and is told as it is.
    }
    const { status } = response;
    // Of what a provider says then, much is of the key: only the log has it.
    if (status === 401 || status === 403)
      return modelFailure(
        `The language model answers ${status}: it does not take the key (LLM_API_KEY, LLM_API_KEY_FILE) ` +
          'for this model',
        new Error(this.said(said)),
      );
    const what = said.trim() === '' ? '' : `: ${this.said(said)}`;
    if (status === 429) return new QuiverError('overloaded', `The language model is busy; try again later${what}`);
    const message = `The language model answers ${status}${what}`;
    return status >= 500 ? new QuiverError('unavailable', message) : modelFailure(message);
  }

  /** What the provider said, for clients: on one line, short, and without its key. */
  private said(text: string): string {
    return this.withoutKey(text)
      .toWellFormed()
      .replace(/[\p{Cc}\s]+/gu, ' ')
      .trim()
      .slice(0, ERROR_CHARACTERS_SHOWN);
  }

  /** Providers repeat a key as a whole, as JSON has it, or in part. */
  private withoutKey(text: string): string {
    const { apiKey } = this.provider;
    const begin = apiKey.slice(0, KEY_CHARACTERS_SHOWN_MAX + 1);
    const isPart = (word: string): boolean =>
      MASKED.test(word) || (begin.length > KEY_CHARACTERS_SHOWN_MAX && word.includes(begin));
    const plain =
      apiKey === '' ? text : text.replaceAll(apiKey, '***').replaceAll(JSON.stringify(apiKey).slice(1, -1), '***');
    return plain.replace(/[^\s"'`,;]+/g, (word) => (isPart(word) ? '***' : word));
  }
}

function finishOf(reason: string): ChatFinish {
  return reason === 'length' || reason === 'content_filter' ? reason : 'stop';
}

/** Errors: embedding_unavailable; unavailable, with what is `broken`, for what may be a part of an object. */
function parsed(text: string, broken?: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    if (broken !== undefined) throw new QuiverError('unavailable', broken, { cause });
    throw modelFailure('The language model answers what is no JSON', cause);
  }
  if (typeof value !== 'object' || value === null) throw modelFailure('The language model answers no object');
  return value as Record<string, unknown>;
}

/** What an error of the protocol says, in any of the forms that there are. */
function messageIn(answer: Record<string, unknown>): string {
  const { error, message, detail } = answer;
  const inner = (typeof error === 'object' && error !== null ? error : {}) as Record<string, unknown>;
  const found = [inner.message, error, message, detail].find((one) => typeof one === 'string');
  return (found as string | undefined) ?? JSON.stringify(answer);
}

function usageIn(usage: unknown): TokenUsage | null {
  const { prompt_tokens: prompt, completion_tokens: completion } = (usage ?? {}) as Record<string, unknown>;
  return isCount(prompt) && isCount(completion) ? { promptTokens: prompt, completionTokens: completion } : null;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

async function boundedText(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > bytesMax) throw new Error(`it answers more than ${bytesMax} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}
