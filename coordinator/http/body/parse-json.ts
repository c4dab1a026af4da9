import { isUtf8 } from 'node:buffer';
import { QuiverError } from '../../../shared/errors/quiver-error';

/** Longest piece of JSON.parse's own message that is passed on: it quotes the body. */
const REASON_CHARACTERS_MAX = 200;

/** JSON.parse over UTF-8 bytes. Errors: schema_violation. */
export function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw new QuiverError('schema_violation', 'body is not valid UTF-8');
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new QuiverError('schema_violation', `body is not valid JSON: ${error.message.slice(0, REASON_CHARACTERS_MAX)}`);
  }
}
