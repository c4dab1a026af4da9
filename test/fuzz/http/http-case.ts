import { connect } from 'node:net';
import { faultsOfAnswer } from './answer-faults';
import { parseAnswers, type RawAnswer } from './raw-answer';

/** What one connection carries. Bytes are base64, so that a case is a file. */
export interface HttpCase {
  /** The bytes in the pieces in which they are written. */
  pieces: string[];
  /** How many whole, well-framed requests they are; null when nobody can say. */
  requests: number | null;
  /** The client goes away without a word when it has sent all. */
  aborts: boolean;
}

/** Every request has its answer by then, and a connection whose client has said that it sends nothing more its end. */
const ENDED_WITHIN_MS = 120_000;
/** Where nobody can say how many answers there will be: silence of this length is taken for the last of them. */
const QUIET_MS = 40;

/** Sends the case over one connection; answers what is wrong with what came back. `secrets` may be in no answer. */
export async function runHttpCase(port: number, given: HttpCase, secrets: readonly string[]): Promise<string[]> {
  const { received, isClosed, error } = await exchange(port, given);
  if (given.aborts) return [];
  const text = received.toString('latin1');
  // A path is told to whoever sent it.
  const sent = Buffer.concat(given.pieces.map((piece) => Buffer.from(piece, 'base64'))).toString('latin1');
  const wrong = secrets
    .filter((secret) => text.includes(secret) && !sent.includes(`/${secret}`))
    .map(() => 'leak: an answer holds a secret');
  const answers = parseAnswers(received);
  if (!isClosed)
    return [
      ...wrong,
      `hangs: ${ENDED_WITHIN_MS / 1000} s after all was sent there were ${answers?.length ?? 'no whole'} answers to ${given.requests ?? 'some'} requests, and the connection was open`,
    ];
  if (answers === null)
    return [...wrong, `framing: what came back is no row of HTTP answers: ${JSON.stringify(text.slice(0, 300))}`];
  wrong.push(...answers.flatMap(faultsOfAnswer));
  // Who sends on behind a refused request may meet a closed connection, and a reset takes away what was not read yet.
  const isCut = error !== null && (given.requests ?? 0) > 1 && answers.length < (given.requests ?? 0);
  if (
    given.requests !== null &&
    answers.length !== given.requests &&
    !isCut &&
    !(saysClose(answers) && answers.length < given.requests)
  ) {
    wrong.push(
      `missing: ${given.requests} requests had ${answers.length} answers on a connection that was kept${error === null ? '' : `, and that ended by ${error}`}`,
    );
  }
  return wrong;
}

function saysClose(answers: readonly RawAnswer[]): boolean {
  return answers.at(-1)?.headers.get('connection') === 'close';
}

function exchange(
  port: number,
  { pieces, aborts, requests }: HttpCase,
): Promise<{ received: Buffer; isClosed: boolean; error: string | null }> {
  return new Promise((done) => {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    let received: Buffer = Buffer.alloc(0);
    let isSent = false;
    let error: string | null = null;
    let quiet: NodeJS.Timeout | undefined;
    const finish = (isClosed: boolean): void => {
      clearTimeout(deadline);
      clearTimeout(quiet);
      socket.destroy();
      done({ received, isClosed, error });
    };
    const deadline = setTimeout(() => finish(false), ENDED_WITHIN_MS);
    /** Node gives up requests of a client that has half closed, so that comes only after the last answer. */
    const endIfAnswered = (): void => {
      if (!isSent || socket.destroyed) return;
      clearTimeout(quiet);
      const answers = requests === null ? null : parseAnswers(received);
      if (requests === null) quiet = setTimeout(() => socket.end(), QUIET_MS);
      else if (answers !== null && (answers.length >= requests || saysClose(answers))) socket.end();
    };
    socket.on('data', (piece: Buffer) => {
      received = Buffer.concat([received, piece]);
      endIfAnswered();
    });
    // A reset is one of the ways in which a server ends a connection.
    socket.on('error', ({ code, message }: NodeJS.ErrnoException) => (error = code ?? message));
    socket.on('end', () => finish(true));
    socket.on('close', () => finish(true));
    socket.on('connect', () => {
      void (async () => {
        for (const piece of pieces) {
          if (socket.destroyed) return;
          await new Promise<void>((written) => socket.write(Buffer.from(piece, 'base64'), () => written()));
          await new Promise((next) => setImmediate(next));
        }
        isSent = true;
        if (aborts) finish(true);
        else endIfAnswered();
      })();
    });
  });
}
