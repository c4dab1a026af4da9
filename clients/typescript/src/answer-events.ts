import type { AnswerAnswer } from './api';
import { apiError, BadAnswerError } from './errors';
import type { ApiRequest } from './request';

/** An answer as it is made. */
export type AnswerEvent =
  /** The first: what the model reads. Absent where the service refuses to ask it. */
  | { type: 'sources'; sources: AnswerAnswer['sources'] }
  /** More of the answer's text. */
  | { type: 'text'; text: string }
  /** The last: the whole, with its checked citations. */
  | { type: 'answer'; answer: AnswerAnswer };

/** The events in the pieces of a stream. Throws the error of its envelope, or BadAnswerError where it has none. */
export async function* answerEvents(
  pieces: AsyncIterable<string>,
  { method, path }: ApiRequest,
  warn: (warnings: readonly string[]) => void,
): AsyncGenerator<AnswerEvent> {
  let text = '';
  for await (const piece of pieces) {
    text += piece;
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const { name, data } = eventIn(block);
      if (name === 'sources') yield { type: 'sources', ...(data as { sources: AnswerAnswer['sources'] }) };
      else if (name === 'text') yield { type: 'text', ...(data as { text: string }) };
      else if (name === 'envelope') {
        const { data: answer, error, warnings = [] } = data as Envelope;
        if (answer === null) {
          const { code, message } = error ?? { code: 500, message: 'no error was given' };
          throw apiError(message, { code, requestId: null, retryAfterMs: null, method, path, attempts: 1 });
        }
        warn(warnings);
        yield { type: 'answer', answer };
        return;
      }
    }
  }
  throw new BadAnswerError(`${method} ${path}: the answer broke off`, { httpStatus: 200, retryAfterMs: null });
}

interface Envelope {
  data: AnswerAnswer | null;
  error: { code: number; message: string } | null;
  warnings?: string[];
}

/** A comment has no name. */
function eventIn(block: string): { name: string | undefined; data: unknown } {
  const lines = block.split('\n');
  const name = lines.find((line) => line.startsWith('event: '))?.slice('event: '.length);
  const data = lines.find((line) => line.startsWith('data: '))?.slice('data: '.length);
  return { name, data: data === undefined ? undefined : JSON.parse(data) };
}
