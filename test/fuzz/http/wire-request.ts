import { gzipSync } from 'node:zlib';
import { below } from '../fuzz-target';

/** A request before it is bytes. */
export interface WireRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer | null;
}

const CHUNK_MAX = 400;

/** The request as bytes: its body by length or in chunks, plain or gzip, as chance has it; always well framed. */
export function framed(random: () => number, request: WireRequest): Buffer {
  const headers: Record<string, string> = { host: 'quiver', ...request.headers };
  let { body } = request;
  if (body !== null && headers['content-encoding'] === undefined && random() < 0.15) {
    body = gzipSync(body, { level: 1 });
    headers['content-encoding'] = 'gzip';
  }
  if (body === null) return headOf(request, headers);
  if (random() < 0.3)
    return Buffer.concat([headOf(request, { ...headers, 'transfer-encoding': 'chunked' }), ...chunksOf(random, body)]);
  return Buffer.concat([headOf(request, { ...headers, 'content-length': String(body.length) }), body]);
}

function headOf({ method, path }: WireRequest, headers: Record<string, string>): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
}

function chunksOf(random: () => number, body: Buffer): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length;) {
    const chunk = body.subarray(at, at + 1 + below(random, Math.max(CHUNK_MAX, body.length / 20)));
    chunks.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
    at += chunk.length;
  }
  return [...chunks, Buffer.from('0\r\n\r\n')];
}

/** The bytes in one to four pieces, cut anywhere. */
export function inPieces(random: () => number, bytes: Buffer): string[] {
  const cuts = Array.from({ length: below(random, 4) }, () => below(random, bytes.length + 1)).sort((a, b) => a - b);
  return [0, ...cuts]
    .map((from, i) => bytes.subarray(from, cuts[i] ?? bytes.length).toString('base64'))
    .filter((piece) => piece !== '');
}
