import { effect, signal } from '@preact/signals';
import { CONSOLE_HISTORY, session } from '../state/session';
import type { ConsoleRequest } from './snippets';

const KEPT_MAX = 30;
/** A long body is not worth its place in the browser's store. */
const BODY_CHARACTERS_MAX = 20_000;

/** Requests of this tab, the last first. They go with the session: a body may hold what is not for everybody. */
const history = signal<ConsoleRequest[]>(read());

effect(() => {
  if (session.value === null) history.value = [];
});

export function useHistory(): ConsoleRequest[] {
  return history.value;
}

export function remember(request: ConsoleRequest): void {
  const kept = { ...request, body: request.body.length > BODY_CHARACTERS_MAX ? '' : request.body };
  const isSame = (one: ConsoleRequest): boolean =>
    one.method === kept.method && one.path === kept.path && one.body === kept.body;
  history.value = [kept, ...history.value.filter((one) => !isSame(one))].slice(0, KEPT_MAX);
  sessionStorage.setItem(CONSOLE_HISTORY, JSON.stringify(history.value));
}

export function HistoryList({ onChoose }: { onChoose: (request: ConsoleRequest) => void }) {
  if (history.value.length === 0) return null;
  return (
    <details class="card-body console-history" open>
      <summary>History</summary>
      <ul>
        {history.value.map((request) => (
          <li key={`${request.method} ${request.path} ${request.body}`}>
            <button type="button" class="plain" onClick={() => onChoose(request)}>
              <span class="tag">{request.method}</span>
              <span class="mono break">{request.path}</span>
              <span class="quiet mono cut">{request.body.replace(/\s+/g, ' ')}</span>
            </button>
          </li>
        ))}
      </ul>
    </details>
  );
}

function read(): ConsoleRequest[] {
  try {
    const stored = JSON.parse(sessionStorage.getItem(CONSOLE_HISTORY) ?? '[]') as ConsoleRequest[];
    return Array.isArray(stored) ? stored : [];
  } catch {
    return [];
  }
}
