import type { Config } from '../../../shared/base/config/config';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../shared/base/time/clock';
import { chosenMetadata } from '../../../shared/contract/filter/chosen-metadata';
import type { JsonObject } from '../../../shared/contract/filter/filter';
import { languageModelOf } from '../../models/language/configured-models';
import {
  type ChatMessage,
  type ChatPiece,
  type ChatStream,
  estimatedTokens,
  type LanguageModels,
  type SpentDetails,
} from '../../models/language/language-model';
import { type ChargeTimes, type KeyQuotaAdmission, type KeyWriter, resetOf } from '../keys/quota/key-quota';
import type {
  AnswerCitation,
  AnswerFacts,
  AnswerRequest,
  AnswersService,
  AnswerSource,
  AnswerStep,
  AnswerSteps,
  AnswerView,
  ChunkIdentity,
} from '../answers-service';
import type { ScoredHit, SearchAnswer, SearchService } from '../service';
import { answerPrompt, PassageRoom } from './answer-prompt';
import { answerSentences, sentenceAt } from './answer-sentences';
import { CitedText } from './cited-text';
import { LeadingThoughts } from './leading-thoughts';
import { QuotedText } from './quoted-text';

export interface AnswerServiceOptions {
  search: Pick<SearchService, 'search'>;
  models: LanguageModels;
  keyQuotas: Pick<KeyQuotaAdmission, 'take' | 'settle'>;
  clock: Clock;
  config: Pick<Config, 'llmBaseUrl' | 'llmModels' | 'llmTokensPerDay' | 'llmPromptCharacters' | 'llmTimeoutMs'>;
  /** Told of each answer. */
  note: (facts: AnswerFacts) => void;
}

type Caller = Parameters<AnswersService['answer']>[1];

/** What a source's metadata may say of its place in a document. */
const PLACE_FIELDS = ['document_id', 'document_key', 'chunk_index', 'page', 'start', 'end', 'headings', 'source'];
/** Of a passage, of the prompt that has it, and of the prompt as it is sent. */
const HELD_PER_CHARACTER = 6;
/** From here on, errors are not the caller's. */
const FAILED_CODE = 500;
const HAS_WORDS = /[\p{L}\p{N}]/u;
/** Where other answers hold the tokens that are left, one of them may end soon. */
const HELD_RETRY_SECONDS = 5;
/** A call that says nothing for so long beyond its time is gone, and its tokens count. */
const LOST_AFTER_MS = 120_000;
const NO_TOKENS = { promptTokens: 0, completionTokens: 0, isEstimated: false };
/** Counts of tokens of a day are kept beside those of what tokens of subjects store, under names of their own. */
const IDENTITY_OF_TOKENS = 'answers:';

/** A retrieval, and when its parts were done. */
interface Found {
  sources: AnswerSource[];
  embeddingMs: number;
  startMs: number;
  foundMs: number;
}

/** Answers questions from what a search finds. It keeps nothing: any process may answer any question. */
export class AnswerService implements AnswersService {
  constructor(private readonly options: AnswerServiceOptions) {}

  async answer(request: AnswerRequest, caller: Caller): Promise<AnswerSteps> {
    const { clock, config } = this.options;
    const startMs = clock.monotonicMs();
    const model = languageModelOf(config, request.model);
    try {
      const found = await this.find(request, caller, startMs);
      if (found.sources.length === 0) return this.refusal(found);
      const texts = found.sources.map(({ text }) => text);
      const messages = answerPrompt(request.question, texts, request.history);
      const wanted = promptTokens(messages) + request.tokensMax;
      const charge = await this.take(wanted, caller);
      const chargedUntil = new ChargedCall((used) => this.settle(charge, { used, wanted }, caller));
      const stream = await this.options.models
        .chat({ model, messages, tokensMax: request.tokensMax })
        .catch((error: unknown) => {
          chargedUntil.end(0);
          throw error;
        });
      return new RunningAnswer({
        found,
        model,
        messages,
        tokensMax: request.tokensMax,
        stream,
        clock,
        charge: chargedUntil,
        note: this.options.note,
      });
    } catch (error) {
      // What is wrong with a question, or refused, is no failure.
      if (!isQuiverError(error) || error.code >= FAILED_CODE || error.kind === 'overloaded')
        this.options.note({ ...NOTHING, outcome: 'failed' });
      throw error;
    }
  }

  private async find(request: AnswerRequest, { hold, warn }: Caller, startMs: number): Promise<Found> {
    const { search, clock, config } = this.options;
    const found = await search.search(request.collection, request.search, hold);
    const [cut] = found.cut ?? [];
    if (cut !== undefined)
      warn?.(
        `the question is longer than the ${cut.read} ${cut.unit} that the embedding model reads: ` +
          'what is left at its end has no part in what is found',
      );
    const read = await readSources(found, config.llmPromptCharacters);
    const { sources, leftOut, cutOff } = read;
    if (leftOut > 0) warn?.(`${leftOut} passages do not fit in the prompt (LLM_PROMPT_CHARACTERS), and are left out`);
    if (cutOff > 0)
      warn?.(`the last ${cutOff} characters of the first passage do not fit in the prompt (LLM_PROMPT_CHARACTERS)`);
    // All else that the search has read is let go.
    hold?.keep(HELD_PER_CHARACTER * sources.reduce((sum, { text }) => sum + text.length, 0));
    return { sources, embeddingMs: found.timing.embeddingMs, startMs, foundMs: clock.monotonicMs() };
  }

  private refusal({ embeddingMs, startMs, foundMs }: Found): AnswerSteps {
    this.options.note({ ...NOTHING, outcome: 'refused' });
    const view: AnswerView = {
      text: '',
      sentences: [],
      sources: [],
      refused: true,
      model: null,
      finish: null,
      droppedQuotes: 0,
      usage: NO_TOKENS,
      timing: {
        embeddingMs,
        retrievalMs: foundMs - startMs,
        firstTokenMs: null,
        modelMs: 0,
        checkingMs: 0,
        totalMs: foundMs - startMs,
      },
    };
    const end = async (): Promise<IteratorResult<AnswerStep, AnswerView>> => ({ done: true, value: view });
    return { next: end, return: end };
  }

  /** Takes what a call may use of the caller's tokens of the day; null: they are not counted. */
  private async take(wanted: number, { identity }: Caller): Promise<number | null> {
    const { keyQuotas, clock, config } = this.options;
    const { llmTokensPerDay: most } = config;
    if (most === 0 || identity === null) return null;
    try {
      return await keyQuotas.take(tokenWriter(identity, most), { items: wanted, bytes: 0 }, this.chargeTimes);
    } catch (error) {
      if (isQuiverError(error) && error.kind === 'overloaded')
        throw new QuiverError(
          'rate_limited',
          `what is left of the tokens of this day is held by other answers of this key that are under way: this may ` +
            `need ${wanted} of ${most} a day (LLM_TOKENS_PER_DAY); ask again when they have ended, or with fewer ` +
            'passages or max_tokens',
          { details: { retryAfterSeconds: HELD_RETRY_SECONDS } },
        );
      if (!isQuiverError(error) || error.kind !== 'limit_exceeded') throw error;
      const reset = resetOf('day', clock.wallMs()) as string;
      throw new QuiverError(
        'rate_limited',
        `the tokens of this day are used up: this may need ${wanted} of ${most} a day (LLM_TOKENS_PER_DAY); ` +
          `ask again after ${reset}, or with fewer passages or max_tokens`,
        { details: { retryAfterSeconds: Math.ceil((Date.parse(reset) - clock.wallMs()) / 1000) } },
      );
    }
  }

  /** Other answers may take long, so none waits for them; and each has the time of its model. */
  private get chargeTimes(): ChargeTimes {
    return { waitMs: 0, lostMs: this.options.config.llmTimeoutMs + LOST_AFTER_MS };
  }

  private settle(charge: number | null, tokens: { used: number; wanted: number }, { identity }: Caller): void {
    if (charge === null || identity === null) return;
    this.options.keyQuotas.settle(charge, { items: tokens.used, bytes: 0 });
    if (tokens.used > tokens.wanted) void this.takeMore(tokens.used - tokens.wanted, identity);
  }

  /** Counts tokens that were used beyond what was taken, as far as there are so many left. */
  private async takeMore(tokens: number, identity: string): Promise<void> {
    const { keyQuotas, config } = this.options;
    const writer = tokenWriter(identity, config.llmTokensPerDay);
    let open = tokens;
    for (let part = tokens; part >= 1 && open > 0; part = Math.floor(part / 2)) {
      const items = Math.min(part, open);
      const charge = await keyQuotas.take(writer, { items, bytes: 0 }, this.chargeTimes).catch(() => null);
      if (charge === null) continue;
      keyQuotas.settle(charge, { items, bytes: 0 });
      open -= items;
    }
  }
}

function tokenWriter(identity: string, most: number): Pick<KeyWriter, 'identity' | 'quota'> {
  return { identity: `${IDENTITY_OF_TOKENS}${identity}`, quota: { items: most, bytes: null, period: 'day' } };
}

const NOTHING = { quotesFound: 0, quotesDropped: 0, sentences: 0, unsupported: 0 };

/** Tokens that were taken for a call, which are settled once. */
class ChargedCall {
  private isEnded = false;

  constructor(private readonly settle: (used: number) => void) {}

  end(used: number): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.settle(used);
  }
}

/** One answer of a model, whose quotes are looked for in the sources when it ends. */
class RunningAnswer implements AnswerSteps {
  private readonly cited: CitedText;
  private readonly calledMs: number;
  private firstMs: number | null = null;
  private readonly thoughts = new LeadingThoughts();
  private written = '';
  /** Shown with the first word: without one, quotes may be the answer. */
  private heldBack = '';
  private hasWords = false;
  private areSourcesGiven = false;
  /** The end, while its last text is given. */
  private view: AnswerView | null = null;
  private isOver = false;

  constructor(
    private readonly parts: {
      found: Found;
      model: string;
      messages: readonly ChatMessage[];
      tokensMax: number;
      stream: ChatStream;
      clock: Clock;
      charge: ChargedCall;
      note: (facts: AnswerFacts) => void;
    },
  ) {
    this.cited = new CitedText(parts.found.sources.length);
    this.calledMs = parts.clock.monotonicMs();
  }

  async next(): Promise<IteratorResult<AnswerStep, AnswerView>> {
    const { found, stream, clock } = this.parts;
    if (!this.areSourcesGiven) {
      this.areSourcesGiven = true;
      return { done: false, value: { type: 'sources', sources: found.sources } };
    }
    if (this.view !== null) return { done: true, value: this.view };
    for (;;) {
      let step: IteratorResult<ChatPiece, undefined>;
      try {
        step = await stream.next();
      } catch (error) {
        this.over('failed', error);
        throw error;
      }
      if (step.done === true) {
        this.over('abandoned');
        throw new QuiverError('unavailable', 'the answer was broken off');
      }
      const { text, end } = step.value;
      if (text !== '') this.firstMs ??= clock.monotonicMs();
      this.written += text;
      let shown = this.heldBack + this.cited.take(this.thoughts.take(text));
      if (end !== undefined) {
        // Whoever offers the stream keeps it until it hears that nothing more is wanted.
        void stream.return();
        shown += this.cited.take(this.thoughts.end()) + this.cited.end(end.finish !== 'stop');
        this.view = this.whole(end);
        // Quotes alone are shown when they were looked for.
        if (!HAS_WORDS.test(this.cited.text)) shown = this.view.text;
        if (shown === '') return { done: true, value: this.view };
      }
      this.hasWords ||= this.view !== null || HAS_WORDS.test(shown);
      this.heldBack = this.hasWords ? '' : shown;
      if (this.hasWords && shown !== '') return { done: false, value: { type: 'text', text: shown } };
    }
  }

  async return(): Promise<IteratorResult<AnswerStep, AnswerView>> {
    await this.parts.stream.return();
    this.over('abandoned');
    return { done: true, value: undefined as unknown as AnswerView };
  }

  /** It ends without a whole answer. */
  private over(outcome: 'failed' | 'abandoned', error?: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    const { charge, note } = this.parts;
    charge.end(this.spentBy(error));
    note({ ...NOTHING, outcome });
  }

  /** Tokens of a call that has no end. */
  private spentBy(error: unknown): number {
    const { messages, tokensMax } = this.parts;
    const told: Partial<SpentDetails> = isQuiverError(error) ? error.details : {};
    const prompt = promptTokens(messages);
    const known = told.usage ? told.usage.promptTokens + told.usage.completionTokens : 0;
    if (known > 0) return known;
    if (this.written !== '') return prompt + estimatedTokens(this.written);
    if (told.spent === 'all') return prompt + tokensMax;
    return told.spent === 'nothing' ? 0 : prompt;
  }

  private whole({ finish, usage }: NonNullable<ChatPiece['end']>): AnswerView {
    const { found, model, messages, clock, charge, note } = this.parts;
    const endedMs = clock.monotonicMs();
    const checked = checkedAnswer(this.cited, found.sources);
    this.isOver = true;
    const doneMs = clock.monotonicMs();
    const tokens = usage ?? {
      promptTokens: promptTokens(messages),
      completionTokens: estimatedTokens(this.written),
    };
    charge.end(tokens.promptTokens + tokens.completionTokens);
    const quotesFound = checked.sentences.reduce((sum, { citations }) => sum + citations.length, 0);
    note({
      outcome: 'answered',
      quotesFound,
      quotesDropped: checked.droppedQuotes,
      sentences: checked.sentences.length,
      unsupported: checked.sentences.filter(({ citations }) => citations.length === 0).length,
    });
    return {
      ...checked,
      sources: found.sources,
      refused: false,
      model,
      finish,
      usage: { ...tokens, isEstimated: usage === null },
      timing: {
        embeddingMs: found.embeddingMs,
        retrievalMs: found.foundMs - found.startMs,
        firstTokenMs: this.firstMs === null ? null : this.firstMs - this.calledMs,
        modelMs: endedMs - this.calledMs,
        checkingMs: doneMs - endedMs,
        totalMs: doneMs - found.startMs,
      },
    };
  }
}

/** The sentences of what a model wrote, with those of its quotes that are where it says. */
export function checkedAnswer(
  cited: Pick<CitedText, 'text' | 'citations'>,
  sources: readonly AnswerSource[],
): Pick<AnswerView, 'text' | 'sentences' | 'droppedQuotes'> {
  const texts = new Map<number, QuotedText>();
  const textOf = (source: AnswerSource): QuotedText => {
    let text = texts.get(source.number);
    if (text === undefined) texts.set(source.number, (text = new QuotedText(source.text)));
    return text;
  };
  let dropped = 0;
  const found: { at: number; citation: AnswerCitation }[] = [];
  for (const { at, number, quote, isCutOff } of cited.citations) {
    const source = sources.find((one) => one.number === number);
    let place = source === undefined || quote === null ? null : textOf(source).find(quote);
    // The last word may be cut.
    if (place === null && isCutOff && source !== undefined)
      place = textOf(source).find(quote!.slice(0, quote!.search(/\S*$/)));
    if (source === undefined || place === null) {
      dropped += 1;
      continue;
    }
    const words = source.text.slice(place.start, place.end);
    found.push({ at, citation: { source, chunk: chunkOf(source, place), ...place, quote: words } });
  }
  // A model that writes nothing but quotes means these.
  if (!HAS_WORDS.test(cited.text) && found.length > 0) return { ...quotesAlone(found), droppedQuotes: dropped };
  const parts = answerSentences(
    cited.text,
    cited.citations.map(({ at }) => at),
  );
  const citations = parts.map((): AnswerCitation[] => []);
  for (const { at, citation } of found) {
    const of = citations[sentenceAt(parts, at)];
    const isThere = of.some(
      ({ source, start, end }) => source === citation.source && start === citation.start && end === citation.end,
    );
    if (!isThere) of.push(citation);
  }
  const sentences = parts.map(({ start, end }, i) => ({ text: cited.text.slice(start, end), citations: citations[i] }));
  return { text: cited.text, sentences, droppedQuotes: dropped };
}

function quotesAlone(found: readonly { citation: AnswerCitation }[]): Pick<AnswerView, 'text' | 'sentences'> {
  const sentences = found.map(({ citation }) => ({
    text: citation.quote.replace(/\s+/g, ' ').trim(),
    citations: [citation],
  }));
  return { text: sentences.map(({ text }) => text).join('\n'), sentences };
}

function promptTokens(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, { content }) => sum + estimatedTokens(content), 0);
}

/** The chunk of a quote: one that has all of it, or else that in which it begins. */
function chunkOf(source: AnswerSource, { start, end }: { start: number; end: number }): ChunkIdentity {
  const { chunks = [] } = source;
  const around = chunks.filter((one) => one.at <= start && end <= one.end);
  // Chunks may share words: that which was found is meant.
  const own = around.find(({ externalId }) => externalId === source.externalId);
  return own ?? around[0] ?? chunks.findLast(({ at }) => at <= start) ?? source;
}

/** Hits a part at a time, also of an answer that reads the rest of them when they are taken. */
async function* pagesOf({ hits, later }: SearchAnswer): AsyncGenerator<readonly ScoredHit[]> {
  if (later === undefined) yield hits;
  else yield* later.pagesOf(hits);
}

/**
 * What the model is to read of the hits, as far as there is room for it. Of hits whose chunks are in one window, it is
 * one; blank ones are none. Nothing else of what is read is kept.
 */
async function readSources(
  found: SearchAnswer,
  charactersMax: number,
): Promise<{ sources: AnswerSource[]; leftOut: number; cutOff: number }> {
  const room = new PassageRoom(charactersMax);
  const sources = new Map<string, AnswerSource>();
  let [leftOut, cutOff, seen] = [0, 0, 0];
  for await (const page of pagesOf(found)) {
    for (const hit of page) {
      seen += 1;
      const text = hit.context?.text ?? hit.text ?? '';
      if (text.trim() === '') continue;
      const known = sources.get(text);
      const taken = known === undefined ? room.take(text) : null;
      if (known !== undefined) addChunk(known, hit);
      else if (taken === null) leftOut += 1;
      else {
        cutOff += text.length - taken.length;
        sources.set(text, sourceOf(hit, taken, sources.size + 1));
      }
    }
    if (!room.isFull) continue;
    leftOut += Math.max(0, found.hits.length - seen);
    break;
  }
  return { sources: [...sources.values()], leftOut, cutOff };
}

/** Of another hit in the same text, it is known where it says that it is. */
function addChunk(source: AnswerSource, { externalId, metadata }: ScoredHit): void {
  const { page } = placeOf(metadata);
  source.chunks = source.chunks?.map((one) =>
    one.externalId === externalId ? { ...one, ...given('page', page) } : one,
  );
}

function sourceOf({ externalId, score, metadata, context }: ScoredHit, text: string, number: number): AnswerSource {
  const place = placeOf(metadata);
  const { documentId, page } = place;
  const chunks = context?.chunks.map(({ externalId: id, at, end }) => ({
    externalId: id,
    ...given('documentId', documentId),
    ...given('page', id === externalId ? page : undefined),
    at,
    end,
  }));
  return { number, externalId, score, ...place, ...given('chunks', chunks), text };
}

/** What metadata say of a chunk's place in a document. */
function placeOf(metadata: string): Omit<AnswerSource, 'number' | 'externalId' | 'score' | 'text' | 'chunks'> {
  const place = JSON.parse(chosenMetadata(metadata, PLACE_FIELDS)) as JsonObject;
  const numberIn = (name: string): number | undefined => {
    const value = place[name];
    return typeof value === 'number' ? value : undefined;
  };
  const { document_id: documentId, document_key: documentKey, headings, source } = place;
  const isTexts = Array.isArray(headings) && headings.every((one) => typeof one === 'string');
  return {
    ...(typeof documentId === 'string' || typeof documentId === 'number' ? { documentId } : {}),
    ...given('documentKey', typeof documentKey === 'string' ? documentKey : undefined),
    ...given('chunkIndex', numberIn('chunk_index')),
    ...given('page', numberIn('page')),
    ...given('start', numberIn('start')),
    ...given('end', numberIn('end')),
    ...given('headings', isTexts ? (headings as string[]) : undefined),
    ...given('source', typeof source === 'string' ? source : undefined),
  };
}

function given<Name extends string, Value>(name: Name, value: Value | undefined): { [Key in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { [Key in Name]?: Value });
}
