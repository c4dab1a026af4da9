import { request, type IncomingHttpHeaders } from 'node:http';
import type { ApiTarget } from './api-target';

export interface ApiAnswer {
  httpStatus: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The parsed body; null when it is no JSON. */
  json: { status: string; data: any; error: { code: number; message: string } | null } | null;
}

export interface ApiRequest {
  method: string;
  /** As it goes over the wire: nothing is normalised or encoded. */
  path: string;
  /** An object is sent as JSON; text and bytes as they are. */
  body?: unknown;
  headers?: Record<string, string>;
  /** null sends none; default: the target's admin key. */
  key?: string | null;
  /** Breaks the connection off when it fires; the call rejects. */
  signal?: AbortSignal;
}

/** A client that sends paths and bodies exactly as given, which fetch does not. */
export class ApiClient {
  constructor(private readonly target: Pick<ApiTarget, 'baseUrl' | 'adminKey' | 'http2'>) {}

  async call({ method, path, body, headers = {}, key = this.target.adminKey, signal }: ApiRequest): Promise<ApiAnswer> {
    const { hostname, port } = new URL(this.target.baseUrl);
    const payload =
      body === undefined ? undefined : typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    const sent = {
      ...(payload === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(payload)) }),
      ...(key === null ? {} : { 'x-api-key': key }),
      ...headers,
    };
    if (this.target.http2 !== undefined) {
      const answer = await this.target.http2.call({ method, path, headers: sent, payload, signal });
      return { ...answer, json: parsed(answer.text) };
    }
    return new Promise((resolve, reject) => {
      const outgoing = request({ hostname, port, method, path, headers: sent, signal }, (incoming) => {
        const pieces: Buffer[] = [];
        incoming.on('data', (piece: Buffer) => pieces.push(piece));
        incoming.on('error', reject);
        incoming.on('end', () => {
          const text = Buffer.concat(pieces).toString('utf8');
          resolve({ httpStatus: incoming.statusCode ?? 0, headers: incoming.headers, text, json: parsed(text) });
        });
      });
      outgoing.on('error', reject);
      outgoing.end(payload);
    });
  }

  get = (path: string, more: Partial<ApiRequest> = {}): Promise<ApiAnswer> =>
    this.call({ method: 'GET', path, ...more });
  post = (path: string, body?: unknown, more: Partial<ApiRequest> = {}): Promise<ApiAnswer> =>
    this.call({ method: 'POST', path, body, ...more });
  patch = (path: string, body?: unknown, more: Partial<ApiRequest> = {}): Promise<ApiAnswer> =>
    this.call({ method: 'PATCH', path, body, ...more });
  delete = (path: string, more: Partial<ApiRequest> = {}): Promise<ApiAnswer> =>
    this.call({ method: 'DELETE', path, ...more });

  /** Uploads by multipart/form-data, the parts in the order given. */
  async upload(
    parts: ({ name: string; value: string } | { name: string; fileName: string; content: Buffer | string })[],
    more: Partial<ApiRequest> = {},
  ): Promise<ApiAnswer> {
    const boundary = 'a-boundary-that-is-not-in-the-parts';
    const pieces = parts.flatMap((part) => {
      const isFile = 'fileName' in part;
      const disposition = `form-data; name="${part.name}"${isFile ? `; filename="${part.fileName}"` : ''}`;
      const type = isFile ? 'Content-Type: text/plain\r\n' : '';
      return [
        `--${boundary}\r\nContent-Disposition: ${disposition}\r\n${type}\r\n`,
        isFile ? part.content : part.value,
        '\r\n',
      ];
    });
    const body = Buffer.concat(
      [...pieces, `--${boundary}--\r\n`].map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)),
    );
    return this.call({
      method: 'POST',
      path: more.path ?? '/v1/documents/upload',
      body,
      ...more,
      headers: { 'content-type': `multipart/form-data; boundary=${boundary}`, ...more.headers },
    });
  }
}

function parsed(text: string): ApiAnswer['json'] {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The data of a success; fails with the answer when it is none. */
export function dataOf(answer: ApiAnswer): any {
  expect(answer.httpStatus).toBe(200);
  expect({ status: answer.json?.status, error: answer.json?.error }).toEqual({ status: 'success', error: null });
  return answer.json?.data;
}

/** The message of an error of that code; fails with the answer when it is another. */
export function errorOf(answer: ApiAnswer, code: number): string {
  expect(answer.httpStatus).toBe(200);
  expect(answer.json).toEqual({ status: 'error', data: null, error: { code, message: expect.any(String) } });
  return answer.json?.error?.message ?? '';
}
