import { useRef, useState } from 'preact/hooks';
import { callRaw, callText, isAbort, messageOf } from '../api/client';
import { bytes, milliseconds } from '../parts/format';
import { usePolling } from '../state/polling';
import { BodyEditor } from './body-editor';
import { operationAt } from './completion';
import { HistoryList, remember, useHistory } from './history';
import { type ApiDocument, operationsOf } from './openapi';
import { PathInput } from './path-input';
import { SnippetButtons } from './snippet-buttons';
import type { ConsoleRequest } from './snippets';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const FIRST: ConsoleRequest = { method: 'GET', path: '/v1/collections', body: '' };
/** A longer answer makes the page slow, and is not read here anyway. */
const SHOWN_CHARACTERS_MAX = 400_000;

interface Answer {
  status: string;
  isGood: boolean;
  text: string;
  tookMs: number;
  size: number;
}

export function ConsolePage() {
  const [request, setRequest] = useState<ConsoleRequest>(useHistory()[0] ?? FIRST);
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [isBusy, setBusy] = useState(false);
  const running = useRef<AbortController | null>(null);
  // Without the document (API_DOCS=false) there are no suggestions, and all else works.
  const operations =
    usePolling('openapi', 0, async (signal) =>
      operationsOf(JSON.parse(await callText('/openapi.json', signal)) as ApiDocument),
    ).data ?? [];
  const operation = operationAt(operations, request.method, request.path);

  const send = async (): Promise<void> => {
    running.current?.abort();
    const stop = new AbortController();
    running.current = stop;
    setBusy(true);
    remember(request);
    const from = performance.now();
    try {
      const { text, type, status } = await callRaw(
        request.method,
        request.path,
        request.method === 'GET' || request.body.trim() === '' ? undefined : request.body,
        stop.signal,
      );
      setAnswer({ ...shown(text, type, status), tookMs: performance.now() - from, size: new Blob([text]).size });
    } catch (error) {
      if (isAbort(error)) return;
      setAnswer({
        status: 'no answer',
        isGood: false,
        text: messageOf(error),
        tookMs: performance.now() - from,
        size: 0,
      });
    }
    setBusy(false);
  };

  return (
    <>
      <div class="page-head">
        <h1 tabIndex={-1}>Console</h1>
        <span class="quiet">Requests with your key, as any client sends them</span>
      </div>
      <div class="columns two">
        <section class="card" aria-label="Request">
          <form
            class="card-body stack"
            onSubmit={(event) => {
              event.preventDefault();
              void send();
            }}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
                event.preventDefault();
                void send();
              }
            }}
          >
            <div class="request-line">
              <select
                aria-label="Method"
                value={request.method}
                onChange={(event) => setRequest({ ...request, method: event.currentTarget.value })}
              >
                {METHODS.map((method) => (
                  <option key={method}>{method}</option>
                ))}
              </select>
              <PathInput
                path={request.path}
                operations={operations}
                onPath={(path) => setRequest({ ...request, path })}
                onChoose={({ method, path, example }) => setRequest({ method, path, body: example })}
              />
              <button type="submit" class="primary" aria-busy={isBusy}>
                Send
              </button>
            </div>
            {operation !== null && <p class="quiet small">{operation.summary}</p>}
            {request.method !== 'GET' && (
              <BodyEditor
                body={request.body}
                fields={operation?.fields ?? []}
                onBody={(body) => setRequest({ ...request, body })}
              />
            )}
            <div class="row">
              <SnippetButtons request={request} />
              <span class="quiet small browse-end">Ctrl + Enter sends</span>
            </div>
          </form>
          <HistoryList onChoose={setRequest} />
        </section>
        <section class="card" aria-label="Answer">
          <div class="card-head">
            <h2>Answer</h2>
            {answer !== null && (
              <span class="row" role="status">
                <span class={`tag ${answer.isGood ? 'good' : 'bad'}`}>{answer.status}</span>
                <span class="quiet small number">
                  {milliseconds(answer.tookMs)} · {bytes(answer.size)}
                </span>
              </span>
            )}
          </div>
          <div class="card-body">
            {answer === null ? (
              <p class="quiet">Send a request to see what comes back.</p>
            ) : (
              <pre class="json console-answer" tabIndex={0} aria-label="Body of the answer">
                {answer.text}
              </pre>
            )}
          </div>
        </section>
      </div>
    </>
  );
}

/** The envelope says how it went; the HTTP status is 200 for every answer of the API. */
function shown(text: string, type: string, status: number): Pick<Answer, 'status' | 'isGood' | 'text'> {
  const cut = (long: string): string =>
    long.length > SHOWN_CHARACTERS_MAX ? `${long.slice(0, SHOWN_CHARACTERS_MAX)}\n… cut here` : long;
  if (!type.includes('json')) return { status: String(status), isGood: status < 400, text: cut(text) };
  try {
    const parsed = JSON.parse(text) as { status?: string; error?: { code: number } | null };
    const isError = parsed.status === 'error';
    return {
      status: isError ? `error ${parsed.error?.code ?? ''}` : 'success',
      isGood: !isError,
      text: cut(JSON.stringify(parsed, null, 2)),
    };
  } catch {
    return { status: String(status), isGood: false, text: cut(text) };
  }
}
