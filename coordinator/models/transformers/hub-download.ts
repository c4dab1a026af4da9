import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import { modelFailure } from './model-failure';
import type { FileFacts } from './model-lock';

/** One file of the hub that is about to arrive. The caller must save, read or cancel it. */
export interface HubFile {
  /** The commit that it belongs to, if the hub says so. Requests for that commit get files of one state. */
  readonly commit: string | null;
  /** The whole content, for small files. Errors: as `save`. */
  bytes(sha256?: string): Promise<Buffer>;
  /**
   * Writes the content to `path`, whole or not at all, and answers its size and digest. Errors: embedding_unavailable
   * when the download breaks off, or its size or digest is not what the hub announced, or the digest is not `sha256`.
   */
  save(path: string, sha256?: string): Promise<FileFacts>;
  cancel(): void;
}

/** Files of models by name. */
export interface HubFiles {
  /** Null when the model has no such file. Errors: embedding_unavailable when the hub can't be reached or refuses. */
  open(model: string, path: string, revision: string): Promise<HubFile | null>;
  write(path: string, content: Buffer): Promise<void>;
}

/** Time until the hub's first answer: without a network, a start waits no longer than this. */
const ANSWER_MS = 5_000;
/** The same later: before an answer, and between two pieces of one. */
const SILENCE_MS = 30_000;
/** In that time so many bytes come of any answer that is worth waiting for. */
const PACE_BYTES = 16 * 1024;
/** Of a file that is read into memory: those of models have some kilobytes. */
const READ_BYTES_MAX = 16 * 1024 * 1024;
/** The part of its disk that a model leaves free: it may be that of the data. */
const FREE_PART = 1 / 20;
/** After so many bytes of a file it is looked at. */
const LOOK_BYTES = 16 * 1024 * 1024;
const PROGRESS_EVERY_MS = 5_000;
/** The hub serves large files from another host, after one or two redirects. */
const REDIRECTS_MAX = 5;
const SHA256 = /^[0-9a-f]{64}$/;
const SHA1 = /^[0-9a-f]{40}$/;

/** What the hub says about a file before it sends it. */
interface Announced {
  commit: string | null;
  sha256: string | null;
  /** For a file in git itself: git's id of it, or, with some mirrors, the digest of its content. */
  sha1: string | null;
}

/**
 * Reads `<hub>/<model>/resolve/<revision>/<path>`, the addresses of huggingface.co and its mirrors. The answers may
 * carry the commit (x-repo-commit) and the file's digest (x-linked-etag, otherwise etag); if so, what arrives is
 * compared with them.
 */
export class HubDownload implements HubFiles {
  private hasAnswered = false;

  constructor(
    private readonly options: {
      hub: string;
      clock: Clock;
      log: Pick<Logger, 'info'>;
      stopSignal?: AbortSignal;
      answerMs?: number;
      silenceMs?: number;
      freePart?: number;
    },
  ) {}

  async open(model: string, path: string, revision: string): Promise<HubFile | null> {
    const abort = new AbortController();
    const signal = AbortSignal.any([
      abort.signal,
      ...(this.options.stopSignal === undefined ? [] : [this.options.stopSignal]),
    ]);
    const { hub, answerMs = ANSWER_MS, silenceMs = SILENCE_MS } = this.options;
    const patienceMs = this.hasAnswered ? silenceMs : answerMs;
    const timer = setTimeout(() => abort.abort(), patienceMs);
    let response: Response;
    let announced: Announced;
    try {
      ({ response, announced } = await follow(
        `${hub.replace(/(?<!\/)\/+$/, '')}/${model}/resolve/${revision}/${path}`,
        signal,
      ));
    } catch (error) {
      if (isQuiverError(error)) throw error;
      if (this.options.stopSignal?.aborted === true) throw modelFailure('the process is ending', error);
      throw modelFailure(
        abort.signal.aborted ? `the hub did not answer within ${patienceMs} ms` : "the hub can't be reached",
        error,
      );
    } finally {
      clearTimeout(timer);
    }
    this.hasAnswered = true;
    if (response.ok) return this.fileOf({ model, path, response, abort, announced });
    abort.abort();
    if (response.status === 404) return null;
    // The hub also answers this for models that do not exist.
    if (response.status === 401 || response.status === 403)
      throw modelFailure(`the hub has no public model of that name (it answers ${response.status})`);
    throw modelFailure(`the hub answers ${response.status}`);
  }

  async write(path: string, content: Buffer): Promise<void> {
    await saveWhole(path, async function* () {
      yield content;
    });
  }

  private fileOf(source: {
    model: string;
    path: string;
    response: Response;
    abort: AbortController;
    announced: Announced;
  }): HubFile {
    const { announced } = source;
    return {
      commit: announced.commit,
      bytes: async (sha256) => {
        const pieces: Uint8Array[] = [];
        let bytes = 0;
        for await (const piece of this.pieces(source)) {
          bytes += piece.length;
          if (bytes > READ_BYTES_MAX)
            throw modelFailure(`the hub's ${source.path} has more than ${READ_BYTES_MAX} bytes`);
          pieces.push(piece);
        }
        const content = Buffer.concat(pieces);
        const digest = createHash('sha256').update(content).digest('hex');
        await check(source.path, { announced, digest, wanted: sha256, content: async () => content });
        return content;
      },
      save: async (path, sha256) => {
        const hash = createHash('sha256');
        const facts = { bytes: 0, sha256: '' };
        const { freePart = FREE_PART } = this.options;
        let looked = 0;
        const hashed = async function* (pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
          for await (const piece of pieces) {
            hash.update(piece);
            facts.bytes += piece.length;
            if (facts.bytes - looked >= LOOK_BYTES) {
              looked = facts.bytes;
              await mustHaveRoom(dirname(path), freePart);
            }
            yield piece;
          }
        };
        await saveWhole(
          path,
          () => hashed(this.pieces(source)),
          async (aside) => {
            facts.sha256 = hash.digest('hex');
            await check(source.path, {
              announced,
              digest: facts.sha256,
              wanted: sha256,
              content: () => readFile(aside),
            });
          },
        );
        return facts;
      },
      cancel: () => source.abort.abort(),
    };
  }

  /**
   * The content as it arrives. Fails when it stops or all but stops coming, or is shorter than announced; whoever
   * leaves off ends it.
   */
  private async *pieces({
    model,
    path,
    response,
    abort,
  }: {
    model: string;
    path: string;
    response: Response;
    abort: AbortController;
  }): AsyncGenerator<Uint8Array> {
    const { clock, log, silenceMs = SILENCE_MS } = this.options;
    const totalBytes =
      response.headers.get('content-encoding') === null ? Number(response.headers.get('content-length') ?? NaN) : NaN;
    let receivedBytes = 0;
    let reportedMs = clock.monotonicMs();
    const timer = setTimeout(() => abort.abort(), silenceMs);
    let pacedBytes = 0;
    try {
      for await (const piece of response.body ?? []) {
        receivedBytes += piece.length;
        if (receivedBytes - pacedBytes >= PACE_BYTES) {
          pacedBytes = receivedBytes;
          timer.refresh();
        }
        if (clock.monotonicMs() - reportedMs >= PROGRESS_EVERY_MS) {
          reportedMs = clock.monotonicMs();
          log.info(
            { model, file: path, receivedBytes, totalBytes: Number.isNaN(totalBytes) ? null : totalBytes },
            'fetching the embedding model',
          );
        }
        yield piece;
      }
    } catch (error) {
      throw isQuiverError(error)
        ? error
        : modelFailure(`the download of ${path} broke off after ${receivedBytes} bytes`, error);
    } finally {
      clearTimeout(timer);
    }
    if (!Number.isNaN(totalBytes) && receivedBytes !== totalBytes)
      throw modelFailure(`the download of ${path} ended after ${receivedBytes} of ${totalBytes} bytes`);
  }
}

/** The answer at the end of the redirects, and what the first answer announced. */
async function follow(address: string, signal: AbortSignal): Promise<{ response: Response; announced: Announced }> {
  let url = address;
  let announced: Announced | null = null;
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const response = await fetch(url, { signal, redirect: 'manual' }).catch((error: unknown) =>
      throwUnreached(url, signal, error),
    );
    announced ??= announcedBy(response.headers);
    const location = response.status >= 300 && response.status < 400 ? response.headers.get('location') : null;
    if (location === null) return { response, announced };
    await response.body?.cancel();
    const next = new URL(location, url);
    if (next.protocol !== 'https:' && new URL(url).protocol === 'https:')
      throw modelFailure('the hub sends on to an address without TLS');
    url = next.href;
  }
  throw modelFailure('the hub sends on and on');
}

/** Names the host, which may be another than that of EMBEDDING_HUB. */
function throwUnreached(url: string, signal: AbortSignal, error: unknown): never {
  if (signal.aborted || !URL.canParse(url)) throw error;
  const { code } = ((error as Error).cause ?? {}) as { code?: unknown };
  throw modelFailure(
    `the hub can't be reached at ${new URL(url).host}${typeof code === 'string' ? ` (${code})` : ''}`,
    error,
  );
}

function announcedBy(headers: Headers): Announced {
  const commit = headers.get('x-repo-commit');
  const tag = (name: string): string => (headers.get(name) ?? '').replace(/^W\//, '').replaceAll('"', '').toLowerCase();
  const linked = tag('x-linked-etag');
  // Only servers that send a commit, as the hub does, use the etag for a digest.
  const own = commit === null ? '' : tag('etag');
  return {
    commit: commit !== null && SHA1.test(commit) ? commit : null,
    sha256: [linked, own].find((one) => SHA256.test(one)) ?? null,
    sha1: linked === '' && SHA1.test(own) ? own : null,
  };
}

/** Errors: embedding_unavailable when a file is not what it should be. */
async function check(
  path: string,
  found: { announced: Announced; digest: string; wanted: string | undefined; content: () => Promise<Buffer> },
): Promise<void> {
  const { announced, digest, wanted } = found;
  if (wanted !== undefined && digest !== wanted)
    throw modelFailure(
      `the hub's ${path} is not the one that is known at this revision (SHA-256 ${digest}, not ${wanted})`,
    );
  if (announced.sha256 !== null && digest !== announced.sha256)
    throw modelFailure(`the download of ${path} does not match the SHA-256 that the hub says it has`);
  if (announced.sha1 === null) return;
  const content = await found.content();
  const sha1 = (...parts: (string | Buffer)[]): string =>
    parts.reduce((hash, part) => hash.update(part), createHash('sha1')).digest('hex');
  if (sha1(`blob ${content.length}\0`, content) !== announced.sha1 && sha1(content) !== announced.sha1)
    throw modelFailure(`the download of ${path} does not match the digest that the hub says it has`);
}

/** Errors: embedding_unavailable when the disk of a folder is about to be full. */
async function mustHaveRoom(folder: string, freePart: number): Promise<void> {
  const { bavail, blocks } = await statfs(folder);
  if (bavail < blocks * freePart) throw modelFailure('the disk of EMBEDDING_CACHE_DIR has too little room for it');
}

/** Written to another file and renamed, so that readers see the whole file or none. */
async function saveWhole(
  path: string,
  content: () => AsyncIterable<Uint8Array>,
  accept: (aside: string) => Promise<void> = async () => undefined,
): Promise<void> {
  const aside = `${path}.${process.pid}.part`;
  try {
    await mkdir(dirname(path), { recursive: true });
    const file = await open(aside, 'w');
    try {
      for await (const piece of content()) await file.writeFile(piece);
      await file.sync();
    } finally {
      await file.close();
    }
    await accept(aside);
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true }).catch(() => undefined);
    throw isQuiverError(error) ? error : modelFailure("it can't be written to EMBEDDING_CACHE_DIR", error);
  }
}
