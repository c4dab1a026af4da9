import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isQuiverError } from '../../../shared/errors/quiver-error';
import type { Logger } from '../../../shared/logs/logger';
import type { Clock } from '../../../shared/time/clock';
import { modelFailure } from './model-failure';

/** One file of the hub that is about to arrive; it must be saved, read or cancelled. */
export interface HubFile {
  /** The whole content: for small files. */
  bytes(): Promise<Buffer>;
  /** Writes the content to `path`, whole or not at all. */
  save(path: string): Promise<void>;
  cancel(): void;
}

/** Files of models by name. */
export interface HubFiles {
  /** Null when the model has no such file. Errors: embedding_unavailable when the hub can't be reached or refuses. */
  open(model: string, path: string): Promise<HubFile | null>;
  write(path: string, content: Buffer): Promise<void>;
}

/** Until the hub's first answer: a start without a network waits no longer. */
const ANSWER_MS = 5_000;
/** Afterwards, before an answer and between two pieces of one. */
const SILENCE_MS = 30_000;
const PROGRESS_EVERY_MS = 5_000;

/** Reads `<hub>/<model>/resolve/main/<path>`, the addresses of huggingface.co and its mirrors. */
export class HubDownload implements HubFiles {
  private hasAnswered = false;

  constructor(private readonly options: { hub: string; clock: Clock; log: Pick<Logger, 'info'>; ending?: AbortSignal; answerMs?: number; silenceMs?: number }) {}

  async open(model: string, path: string): Promise<HubFile | null> {
    const abort = new AbortController();
    const signal = AbortSignal.any([abort.signal, ...(this.options.ending === undefined ? [] : [this.options.ending])]);
    const { hub, answerMs = ANSWER_MS, silenceMs = SILENCE_MS } = this.options;
    const patienceMs = this.hasAnswered ? silenceMs : answerMs;
    const timer = setTimeout(() => abort.abort(), patienceMs);
    let response: Response;
    try {
      response = await fetch(`${hub.replace(/(?<!\/)\/+$/, '')}/${model}/resolve/main/${path}`, { signal });
    } catch (error) {
      if (this.options.ending?.aborted === true) throw modelFailure('the process is ending', error);
      throw modelFailure(abort.signal.aborted ? `the hub did not answer within ${patienceMs} ms` : 'the hub can\'t be reached', error);
    } finally {
      clearTimeout(timer);
    }
    this.hasAnswered = true;
    if (response.ok) return this.fileOf({ model, path, response, abort });
    abort.abort();
    if (response.status === 404) return null;
    // What the hub says of models that do not exist, too.
    if (response.status === 401 || response.status === 403) throw modelFailure(`the hub has no public model of that name (it answers ${response.status})`);
    throw modelFailure(`the hub answers ${response.status}`);
  }

  async write(path: string, content: Buffer): Promise<void> {
    await saveWhole(path, async function* () {
      yield content;
    });
  }

  private fileOf(source: { model: string; path: string; response: Response; abort: AbortController }): HubFile {
    return {
      bytes: async () => {
        const pieces: Uint8Array[] = [];
        for await (const piece of this.pieces(source)) pieces.push(piece);
        return Buffer.concat(pieces);
      },
      save: (path) => saveWhole(path, () => this.pieces(source)),
      cancel: () => source.abort.abort(),
    };
  }

  /** The content as it arrives; an error when it stops coming or is shorter than announced. */
  private async *pieces({ model, path, response, abort }: { model: string; path: string; response: Response; abort: AbortController }): AsyncGenerator<Uint8Array> {
    const { clock, log, silenceMs = SILENCE_MS } = this.options;
    const totalBytes = response.headers.get('content-encoding') === null ? Number(response.headers.get('content-length') ?? NaN) : NaN;
    let receivedBytes = 0;
    let reportedMs = clock.monotonicMs();
    const timer = setTimeout(() => abort.abort(), silenceMs);
    try {
      for await (const piece of response.body ?? []) {
        timer.refresh();
        receivedBytes += piece.length;
        if (clock.monotonicMs() - reportedMs >= PROGRESS_EVERY_MS) {
          reportedMs = clock.monotonicMs();
          log.info({ model, file: path, receivedBytes, totalBytes: Number.isNaN(totalBytes) ? null : totalBytes }, 'fetching the embedding model');
        }
        yield piece;
      }
    } catch (error) {
      throw isQuiverError(error) ? error : modelFailure(`the download of ${path} broke off after ${receivedBytes} bytes`, error);
    } finally {
      clearTimeout(timer);
    }
    if (!Number.isNaN(totalBytes) && receivedBytes !== totalBytes) throw modelFailure(`the download of ${path} ended after ${receivedBytes} of ${totalBytes} bytes`);
  }
}

/** Written aside and renamed: who looks sees the whole file or none. */
async function saveWhole(path: string, content: () => AsyncIterable<Uint8Array>): Promise<void> {
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
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true }).catch(() => undefined);
    throw isQuiverError(error) ? error : modelFailure("it can't be written to EMBEDDING_CACHE_DIR", error);
  }
}
