import type { Http2Session } from 'node:http2';

/**
 * Has a connection of HTTP/2 end in the turn after the one in which it is asked to, whoever asks. Node asks so itself
 * while its library reads (a GOAWAY, an error), and some versions send at once what ends streams, and so free what is
 * being read (nodejs/node#64113,
 * #65093). Answers what has it end at once again.
 */
export function endLater(session: Http2Session): () => void {
  const { close, destroy } = session;
  session.close = (...given) => void setImmediate(() => close.apply(session, given));
  session.destroy = (...given: unknown[]) => void setImmediate(() => destroy.apply(session, given as []));
  return () => {
    session.close = close;
    session.destroy = destroy;
  };
}
