import { useEffect, useRef, useState } from 'preact/hooks';
import { callEvents, isAbort, messageOf } from '../api/client';
import type { AnswerOf, Collection } from '../api/shapes';
import { milliseconds, plural, score } from '../parts/format';
import { SearchIcon } from '../parts/icons';
import { RerankChoice } from '../search/rerank-choice';
import { K_CHOICES } from '../search/search-form';
import { partsOf } from './marked-parts';

type Answer = AnswerOf<'post_answer'>;
type Citation = Answer['sentences'][number]['citations'][number];
type Source = Answer['sources'][number];

/** As much as a model may take, and the service lets it. */
const DEADLINE_MS = 330_000;

interface AskState {
  sources: Source[];
  text: string;
  answer: Answer | null;
  error: string | null;
  isBusy: boolean;
}

const NOTHING: AskState = { sources: [], text: '', answer: null, error: null, isBusy: false };

/** A question to a language model, and its answer, whose citations open the passage where they stand. */
export function AskPage({ collection, onItem }: { collection: Collection; onItem: (id: string) => void }) {
  const [question, setQuestion] = useState('');
  const [k, setK] = useState(10);
  const [rerank, setRerank] = useState<string | null>(null);
  const [state, setState] = useState<AskState>(NOTHING);
  const [shown, setShown] = useState<Citation | null>(null);
  const stop = useRef<AbortController | null>(null);
  useEffect(() => () => stop.current?.abort(), []);

  const ask = async (): Promise<void> => {
    stop.current?.abort();
    const own = (stop.current = new AbortController());
    const change = (fields: (last: AskState) => Partial<AskState>): void => {
      if (stop.current === own) setState((last) => ({ ...last, ...fields(last) }));
    };
    setShown(null);
    setState({ ...NOTHING, isBusy: true });
    const body = {
      collection_name: collection.name,
      question,
      k,
      alpha: 0.5,
      stream: true,
      ...(rerank !== null && { rerank: { model: rerank } }),
    };
    try {
      const answer = await callEvents<'post_answer'>('/v1/answer', {
        body,
        signal: own.signal,
        deadlineMs: DEADLINE_MS,
        onEvent: (name, data) => {
          if (name === 'sources') change(() => ({ sources: (data as { sources: Source[] }).sources }));
          if (name === 'text') change(({ text }) => ({ text: text + (data as { text: string }).text }));
        },
      });
      change(() => ({ answer, isBusy: false }));
    } catch (error) {
      change(() => (isAbort(error) ? { isBusy: false } : { error: messageOf(error), isBusy: false }));
    }
  };

  const { sources, text, answer, error, isBusy } = state;
  return (
    <div class="stack">
      <section class="card stack" aria-label="Question">
        <form
          class="stack"
          onSubmit={(event) => {
            event.preventDefault();
            if (question.trim() !== '') void ask();
          }}
        >
          <div class="row">
            <label class="check">
              <span class="quiet">Passages</span>
              <select value={k} onChange={(event) => setK(Number(event.currentTarget.value))}>
                {K_CHOICES.map((count) => (
                  <option key={count} value={count}>
                    {count}
                  </option>
                ))}
              </select>
            </label>
            <RerankChoice chosen={rerank} onChange={setRerank} />
          </div>
          <div class="search-line">
            <input
              class="grow"
              type="search"
              aria-label="Question"
              value={question}
              placeholder="What do you want to know?"
              onInput={(event) => setQuestion(event.currentTarget.value)}
              autofocus
            />
            {isBusy ? (
              <button type="button" onClick={() => stop.current?.abort()}>
                Stop
              </button>
            ) : (
              <button type="submit" class="primary">
                <SearchIcon />
                Ask
              </button>
            )}
          </div>
        </form>
      </section>
      {error !== null && (
        <p class="notice bad" role="alert">
          {error}
        </p>
      )}
      {(isBusy || text !== '' || answer !== null) && (
        <section class="card stack" aria-label="Answer" aria-live="polite" aria-busy={isBusy}>
          {answer === null ? (
            <p class="answer-text">{text === '' ? 'Reading…' : text}</p>
          ) : (
            <Sentences answer={answer} shown={shown} onShow={setShown} />
          )}
          {answer !== null && <Facts answer={answer} />}
        </section>
      )}
      {sources.length > 0 && (
        <section class="card" aria-label="Sources">
          <div class="card-head">
            <h2>{plural(sources.length, 'source')}</h2>
          </div>
          <ol class="hits">
            {sources.map((source) => (
              <SourceRow
                key={source.number}
                source={source}
                shown={shown?.number === source.number ? shown : null}
                onItem={onItem}
              />
            ))}
          </ol>
        </section>
      )}
    </div>
  );
}

function Sentences({
  answer,
  shown,
  onShow,
}: {
  answer: Answer;
  shown: Citation | null;
  onShow: (citation: Citation) => void;
}) {
  if (answer.refused) return <p class="empty">Nothing relevant was found, so no model was asked.</p>;
  return (
    <p class="answer-text">
      {answer.sentences.map(({ text, citations, unsupported }, i) => (
        <span
          key={i}
          class={unsupported ? 'unsupported' : ''}
          title={unsupported ? 'No quote supports this' : undefined}
        >
          {text}
          {citations.map((citation) => (
            <button
              key={`${citation.number}-${citation.start}`}
              type="button"
              class="cite"
              aria-pressed={citation === shown}
              aria-label={`Source ${citation.number}: ${citation.quote}`}
              onClick={() => onShow(citation)}
            >
              {citation.number}
            </button>
          ))}{' '}
        </span>
      ))}
    </p>
  );
}

function Facts({ answer }: { answer: Answer }) {
  const { model, finish, usage, timing_ms: timing, dropped_quotes: dropped } = answer;
  const parts = [
    ...(model === null ? [] : [model, plural(usage.total_tokens, 'token')]),
    milliseconds(timing.total_ms),
    ...(dropped === 0 ? [] : [`${plural(dropped, 'quote')} not found, and dropped`]),
    ...(finish === null || finish === 'stop' ? [] : [`stopped early: ${finish}`]),
  ];
  return <p class="quiet small number">{parts.join(' · ')}</p>;
}

function SourceRow({
  source,
  shown,
  onItem,
}: {
  source: Source;
  shown: Citation | null;
  onItem: (id: string) => void;
}) {
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (shown !== null) row.current?.scrollIntoView({ block: 'nearest' });
  }, [shown]);
  const [before, quote, after] = partsOf(source.text, shown);
  const place = [
    source.document_key ?? source.source,
    ...(source.page === undefined ? [] : [`page ${source.page}`]),
    ...(source.headings ?? []),
  ].filter((part) => part !== undefined);
  return (
    <li ref={row} class="source">
      <div class="row">
        <span class="tag number">{source.number}</span>
        <button type="button" class="link break" onClick={() => onItem(source.external_id)}>
          {source.external_id}
        </button>
        <span class="quiet small">{place.join(' · ')}</span>
        <span class="quiet small number actions">{score(source.score)}</span>
      </div>
      <p class={`break ${shown === null ? 'clamped' : ''}`}>
        {before}
        {quote !== '' && <mark>{quote}</mark>}
        {after}
      </p>
    </li>
  );
}
