import { connect } from 'node:tls';
import { faultsOfAnswer } from '../http/answer-faults';
import { frameOf, TYPES } from '../../support/http/http2-frames';
import { Http2Answers, type StreamAnswer } from './http2-answers';

/** What one connection of HTTP/2 carries. Bytes are base64, so that a case is a file. */
export interface Http2Case {
  /** In the order in which they are sent, the preface before the first; `stream` 0: of the connection. */
  frames: { stream: number; bytes: string }[];
  /** Places of frames that begin a new write. */
  cuts: number[];
  /** Streams whose requests are as they should be, however odd: each has an answer. */
  due: number[];
  /** How the connection ends: at once behind the last frame, or when all answers have come. */
  end: 'answered' | 'closed' | 'reset';
}

const ENDED_WITHIN_MS = 120_000;
/**
 * Nothing is due any more: what comes to the rest comes by then, and a connection in which an error was made says
 * nothing.
 */
const QUIET_MS = 60;
const PING = frameOf(TYPES.ping, { content: Buffer.from('the-end!') });

/** Sends the case over one connection; answers what is wrong with what came back. `secrets` may be in no answer. */
export async function runHttp2Case(
  at: { port: number; ca: string },
  given: Http2Case,
  secrets: readonly string[],
): Promise<string[]> {
  const { answers, isClosed } = await exchange(at, given);
  const faults: string[] = answers.fault === null ? [] : [`framing: ${answers.fault}`];
  for (const [stream, answer] of answers.streams) {
    const text = answer.body.toString('latin1');
    if (secrets.some((secret) => text.includes(secret)))
      faults.push(`leak: the answer of stream ${stream} holds a secret`);
    if (answer.isOver && answer.resetCode === null) faults.push(...faultsOfStream(answer));
  }
  if (given.end !== 'answered') return faults;
  const missing = given.due.filter((stream) => answers.streams.get(stream)?.isOver !== true);
  const resets = given.due.flatMap((stream) => {
    const code = answers.streams.get(stream)?.resetCode ?? null;
    return code === null ? [] : [`${stream} (code ${code})`];
  });
  if (missing.length > 0 && isClosed)
    faults.push(`missing: the connection ended before the answers of the streams ${missing.join(', ')}`);
  else if (missing.length > 0)
    faults.push(
      `hangs: ${ENDED_WITHIN_MS / 1000} s after all was sent the streams ${missing.join(', ')} had no answer`,
    );
  if (resets.length > 0)
    faults.push(`reset: the streams ${resets.join(', ')} were reset before their answers were whole`);
  return faults;
}

/** Headers but the status are not read; so a body says what it is. */
function faultsOfStream({ status, body }: StreamAnswer): string[] {
  // The one redirect there is, to the explorer.
  if (status === 301) return [];
  const text = body.toString('utf8');
  // Lines of an export, and an item each.
  const isLines = text.startsWith('{"external_id"') || text.startsWith('{"cursor"');
  const headers = new Map(text.startsWith('{') && !isLines ? [['content-type', 'application/json']] : []);
  return faultsOfAnswer({ status, headers, body });
}

function exchange(
  { port, ca }: { port: number; ca: string },
  { frames, cuts, due, end }: Http2Case,
): Promise<{ answers: Http2Answers; isClosed: boolean }> {
  return new Promise((done) => {
    const socket = connect({ host: '127.0.0.1', port, ca, ALPNProtocols: ['h2'] });
    const answers = new Http2Answers();
    let isSent = false;
    let quiet: NodeJS.Timeout | undefined;
    const finish = (isClosed: boolean): void => {
      clearTimeout(deadline);
      clearTimeout(quiet);
      socket.destroy();
      done({ answers, isClosed });
    };
    const deadline = setTimeout(() => finish(false), ENDED_WITHIN_MS);
    const endIfAnswered = (): void => {
      if (!isSent || quiet !== undefined || !due.every((stream) => answers.streams.get(stream)?.isOver === true))
        return;
      quiet = setTimeout(() => finish(false), QUIET_MS);
      socket.write(PING);
    };
    socket.on('data', (piece: Buffer) => {
      answers.take(piece);
      if (quiet !== undefined && answers.pongs > 0) finish(false);
      else endIfAnswered();
    });
    // A reset is one of the ways in which a server ends a connection.
    socket.on('error', () => undefined);
    socket.on('close', () => finish(true));
    socket.on('secureConnect', () => {
      void (async () => {
        for (const [i, from] of [0, ...cuts].entries()) {
          if (socket.destroyed) return;
          const piece = Buffer.concat(
            frames.slice(from, cuts[i] ?? frames.length).map(({ bytes }) => Buffer.from(bytes, 'base64')),
          );
          await new Promise<void>((written) => socket.write(piece, () => written()));
          await new Promise((next) => setImmediate(next));
        }
        isSent = true;
        if (end === 'answered') return endIfAnswered();
        // The bytes leave before the connection does.
        if (end === 'closed') socket.end(() => finish(true));
        else setImmediate(() => finish(true));
      })();
    });
  });
}
