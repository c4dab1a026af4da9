import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A file that was sent. */
export interface SentDocument {
  document_key: string;
  fingerprint: string;
  text: string;
}

interface PlainJob extends SentDocument {
  id: string;
  state: 'queued' | 'running' | 'paused' | 'done' | 'failed' | 'cancelled';
  error: string | null;
  waits_for: string | null;
}

/** What becomes of a request: an error; no answer, where it is not done or is; undefined: what it asks for. */
export type Mishap = { code: number; message?: string; retryAfter?: number } | 'cut' | 'lost' | undefined;

/** The documents and jobs of a service as its API tells of them, with nothing behind: a job does what a test says. */
export class PlainDocuments {
  /** The collection by its name, and by an alias. */
  readonly name = 'manuals';
  readonly alias = 'books';
  created = '2026-01-01T00:00:00.000Z';
  /** As `POST a.md` of an addition, else `GET /v1/jobs`, in order. */
  readonly asked: string[] = [];
  readonly sent: SentDocument[] = [];
  readonly jobs: PlainJob[] = [];
  /** By key. */
  readonly documents = new Map<string, { fingerprint: string; updated_at: string }>();
  /** Whether a job is done by the next look. */
  endsAtOnce = true;
  mishap: (asked: string, count: number) => Mishap = () => undefined;
  private readonly done = new Map<string, PlainJob>();
  private readonly server: Server;
  private updates = 0;

  constructor() {
    this.server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => this.take(request, Buffer.concat(pieces).toString('utf8'), response));
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((listening) => this.server.listen(0, '127.0.0.1', listening));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }

  /** A job that somebody has begun before. */
  begin(sent: SentDocument, state: PlainJob['state'] = 'queued'): PlainJob {
    const job = { ...sent, id: `document-${this.jobs.length}`, state, error: null, waits_for: null };
    this.jobs.unshift(job);
    return job;
  }

  /** Ends a job, so that its document is stored. */
  store(job: PlainJob): void {
    job.state = 'done';
    this.updates += 1;
    const updated_at = `2026-01-02T00:00:00.${String(this.updates).padStart(3, '0')}Z`;
    this.documents.set(job.document_key, { fingerprint: job.fingerprint, updated_at });
  }

  /** The job of a document is known no more. */
  forget({ id }: PlainJob): void {
    this.jobs.splice(
      this.jobs.findIndex((job) => job.id === id),
      1,
    );
  }

  private take(request: IncomingMessage, body: string, response: ServerResponse): void {
    const { method, url = '' } = request;
    const { pathname, searchParams } = new URL(url, 'http://service');
    const isAddition = pathname === '/v1/documents';
    const sent = { document_key: field(body, 'document_key'), fingerprint: field(body, 'fingerprint'), text: '' };
    sent.text = /name="file"[^]*?\r\n\r\n([^]*)\r\n--/.exec(body)?.[1] ?? '';
    const asked = `${method} ${isAddition ? sent.document_key : pathname}`;
    this.asked.push(asked);
    const mishap = this.mishap(asked, this.asked.filter((other) => other === asked).length);
    if (mishap === 'cut') return void response.destroy();
    const answer = (data: object | null): void => {
      if (mishap === 'lost') return void response.destroy();
      const error = data === null ? { code: 404, message: `${pathname} does not exist` } : null;
      this.send(response, error === null ? 200 : 404, { status: error === null ? 'success' : 'error', data, error });
    };
    if (mishap !== undefined && mishap !== 'lost') {
      const { code, message = 'server busy', retryAfter } = mishap;
      if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter));
      return this.send(response, code, { status: 'error', data: null, error: { code, message } });
    }
    if (isAddition) return answer(this.add(sent, request.headers['idempotency-key'] as string | undefined));
    if (this.endsAtOnce && pathname.startsWith('/v1/jobs'))
      for (const job of [...this.jobs].reverse()) if (job.state === 'queued') this.store(job);
    if (pathname === '/v1/jobs') return answer(this.jobsPage(searchParams));
    const [, jobId] = /^\/v1\/jobs\/(.+)$/.exec(pathname) ?? [];
    if (jobId !== undefined) return answer(this.jobs.map(jobData).find(({ id }) => id === jobId) ?? null);
    const [, collection, rest] = /^\/v1\/collections\/([^/]+)(\/documents)?$/.exec(pathname) ?? [];
    if (collection !== this.name && collection !== this.alias) return answer(null);
    if (rest === undefined) return answer({ name: this.name, created_at: this.created });
    const documents = [...this.documents].map(([document_key, more]) => ({ document_key, ...more }));
    answer({ documents, next_cursor: null });
  }

  private add(sent: SentDocument, key: string | undefined): object {
    let job = key === undefined ? undefined : this.done.get(key);
    if (job === undefined) {
      this.sent.push(sent);
      job = this.begin(sent);
      if (key !== undefined) this.done.set(key, job);
    }
    return { job_id: job.id, document_id: `id of ${sent.document_key}`, state: job.state, error: null, result: null };
  }

  private jobsPage(query: URLSearchParams): object {
    const state = query.get('state');
    // Jobs work on collections, which have one name.
    const found = query.get('collection') === this.name ? this.jobs : [];
    const wanted = found.filter((job) => state === null || job.state === state);
    const from = Number(query.get('cursor') ?? 0);
    const to = from + Number(query.get('limit'));
    return { jobs: wanted.slice(from, to).map(jobData), next_cursor: to < wanted.length ? String(to) : null };
  }

  private send(response: ServerResponse, status: number, envelope: object): void {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(envelope));
  }
}

function jobData({ id, state, error, waits_for, document_key: subject }: PlainJob) {
  return { id, kind: 'document', state, error, waits_for, subject };
}

function field(form: string, name: string): string {
  return new RegExp(`name="${name}"\r\n\r\n([^]*?)\r\n--`).exec(form)?.[1] ?? '';
}
