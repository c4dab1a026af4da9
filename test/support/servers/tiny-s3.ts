import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export const S3_KEY = { id: 'tiny-key-id', secret: 'tiny-secret-of-a-test' };
const PAGE = 3;

/**
 * Answers that do not end: none at all, a byte now and then, and far more than was asked for; and one that is of
 * somebody else.
 */
const MODES = ['hang', 'drip', 'flood', 'page'] as const;
type Mode = (typeof MODES)[number];

function answerBy(mode: Mode, answer: ServerResponse): void {
  if (mode === 'page') answer.end('<html>Please sign in</html>');
  if (mode === 'drip') {
    const drops = setInterval(() => answer.write(' '), 10);
    answer.once('close', () => clearInterval(drops));
  }
  if (mode === 'flood') {
    const pour = (): void => {
      while (!answer.destroyed && answer.write(Buffer.alloc(65_536, 32)));
    };
    answer.on('drain', pour);
    pour();
  }
}

/** The part of S3 that backups use, in memory: it checks signatures and checksums, and fails as it is told to. */
export class TinyS3 {
  readonly objects = new Map<string, Buffer>();
  readonly requests: { method: string; path: string; headers: IncomingMessage['headers'] }[] = [];
  /** What to answer in the place of doing it: a status, or that the connection breaks. */
  fault: (request: IncomingMessage) => 'break' | 'cut' | Mode | { status: number; code: string } | null = () => null;
  /** How long it takes for each. */
  delayMs = 0;
  /** What it does with `If-None-Match` of a write: what S3 does, overwrite all the same, or refuse the header. */
  conditions: 'known' | 'ignored' | 'refused' = 'known';
  private constructor(
    private readonly server: Server,
    readonly bucket: string,
  ) {}

  static async start(bucket = 'backups'): Promise<TinyS3> {
    const server = createServer();
    const tiny = new TinyS3(server, bucket);
    server.on('request', (request, answer) => void tiny.answer(request, answer));
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return tiny;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  private async answer(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return;
    }
    const body = Buffer.concat(chunks);
    const url = new URL(request.url ?? '/', this.endpoint);
    this.requests.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers });
    if (this.delayMs > 0) await new Promise((wake) => setTimeout(wake, this.delayMs));
    const fault = this.fault(request);
    if (fault === 'break') return void request.socket.destroy();
    const mode = MODES.find((one) => one === fault);
    if (mode !== undefined) return answerBy(mode, answer);
    if (fault !== null && typeof fault === 'object') return refuse(answer, fault.status, fault.code);
    if (signatureOf(request, url) !== /Signature=([0-9a-f]{64})/.exec(request.headers.authorization ?? '')?.[1])
      return refuse(answer, 403, 'SignatureDoesNotMatch');
    const sum = request.headers['x-amz-content-sha256'];
    if (request.method === 'PUT' && sum !== createHash('sha256').update(body).digest('hex'))
      return refuse(answer, 400, 'XAmzContentSHA256Mismatch');
    const [, bucket, ...rest] = decodeURIComponent(url.pathname).split('/');
    if (bucket !== this.bucket) return refuse(answer, 404, 'NoSuchBucket');
    const key = rest.join('/');
    if (request.method === 'PUT') {
      const isConditional = request.headers['if-none-match'] === '*' && this.conditions !== 'ignored';
      if (isConditional && this.conditions === 'refused') return refuse(answer, 501, 'NotImplemented');
      if (isConditional && this.objects.has(key)) return refuse(answer, 412, 'PreconditionFailed');
      this.objects.set(key, body);
      if (fault === 'cut') return void request.socket.destroy();
      answer.end();
    } else if (request.method === 'DELETE') {
      this.objects.delete(key);
      answer.writeHead(204).end();
    } else if (key === '') this.list(url.searchParams, answer);
    else {
      const found = this.objects.get(key);
      if (found === undefined) return refuse(answer, 404, 'NoSuchKey');
      answer.setHeader('content-length', found.length);
      if (fault !== 'cut') return void answer.end(found);
      answer.write(found.subarray(0, found.length / 2));
      setTimeout(() => request.socket.destroy(), 20);
    }
  }

  /** In pages of a few, so that every list has several. */
  private list(query: URLSearchParams, answer: ServerResponse): void {
    const after = query.get('continuation-token') ?? query.get('start-after') ?? '';
    const keys = [...this.objects.keys()]
      .filter((key) => key.startsWith(query.get('prefix') ?? '') && key > after)
      .sort();
    const page = keys.slice(0, PAGE);
    const contents = page
      .map((key) => `<Contents><Key>${key}</Key><Size>${this.objects.get(key)!.length}</Size></Contents>`)
      .join('');
    const more =
      keys.length > PAGE
        ? `<IsTruncated>true</IsTruncated><NextContinuationToken>${page.at(-1)}</NextContinuationToken>`
        : '<IsTruncated>false</IsTruncated>';
    answer.end(`<?xml version="1.0"?><ListBucketResult>${contents}${more}</ListBucketResult>`);
  }
}

function refuse(answer: ServerResponse, status: number, code: string): void {
  answer.writeHead(status).end(`<?xml version="1.0"?><Error><Code>${code}</Code></Error>`);
}

/** AWS Signature Version 4, by its description. */
function signatureOf(request: IncomingMessage, url: URL): string {
  const [, scope = '', signed = ''] =
    /Credential=[^/]+\/([^,]+), ?SignedHeaders=([^,]+)/.exec(request.headers.authorization ?? '') ?? [];
  const encoded = (text: string): string =>
    encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  const query = [...url.searchParams]
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join('&');
  const headers = signed.split(';').map(
    (name) =>
      `${name}:${String(request.headers[name] ?? '')
        .trim()
        .replace(/\s+/g, ' ')}\n`,
  );
  const canonical = [
    request.method,
    url.pathname,
    query,
    headers.join(''),
    signed,
    request.headers['x-amz-content-sha256'],
  ].join('\n');
  const [date, region, service] = scope.split('/');
  const toSign = [
    'AWS4-HMAC-SHA256',
    request.headers['x-amz-date'],
    scope,
    createHash('sha256').update(canonical).digest('hex'),
  ].join('\n');
  const key = [date, region, service, 'aws4_request'].reduce(
    (last: Buffer | string, part) => createHmac('sha256', last).update(part).digest(),
    `AWS4${S3_KEY.secret}`,
  );
  return createHmac('sha256', key).update(toSign).digest('hex');
}
