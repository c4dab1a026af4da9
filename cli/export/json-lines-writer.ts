import { createWriteStream, renameSync, rmSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { CommandError, EXIT_CODES } from '../command-error';
import { losslessJson } from '../formats/json/lossless-json';
import { type ExportedItem, type ItemWriter, partOf } from './item-writer';

/** An item a line, compressed when the name ends in .gz; to a file or to standard output. */
export class JsonLinesWriter implements ItemWriter {
  readonly wantsNumbers = true;
  private readonly stream: Writable;
  private readonly part: string | null;
  private readonly end: Promise<void>;
  private failure: Error | null = null;

  /** `path`: null is `output`, whose reader may stand still; `stop` ends the wait for it. */
  constructor(
    private readonly path: string | null,
    output: Writable,
    private readonly stop: AbortSignal,
  ) {
    this.part = path === null ? null : partOf(path);
    const sink = this.part === null ? output : createWriteStream(this.part);
    if (path?.endsWith('.gz')) {
      const zip = createGzip();
      zip.pipe(sink);
      // Or what is being written would wait for ever for a full disk to take more.
      sink.on('error', () => zip.destroy());
      this.stream = zip;
    } else {
      this.stream = sink;
    }
    this.end = path === null ? Promise.resolve() : finished(sink);
    // It is awaited at the end; a failure before then fails the next writing.
    this.end.catch((error: Error) => (this.failure = error));
  }

  async write(items: ExportedItem[]): Promise<void> {
    const text = items.map((item) => `${losslessJson(lineOf(item))}\n`).join('');
    await new Promise<void>((done, fail) => {
      const interrupt = (): void => fail(new CommandError('interrupted', EXIT_CODES.interrupted));
      if (this.path === null) this.stop.addEventListener('abort', interrupt);
      // Of one that is aborted already, nobody tells.
      if (this.path === null && this.stop.aborted) interrupt();
      this.stream.write(text, (error) => {
        this.stop.removeEventListener('abort', interrupt);
        if (error) fail(this.failure ?? error);
        else done();
      });
    });
  }

  async finish(): Promise<void> {
    if (this.path === null || this.part === null) return;
    this.stream.end();
    await this.end;
    renameSync(this.part, this.path);
  }

  async abandon(): Promise<void> {
    if (this.part === null) return;
    this.stream.destroy();
    rmSync(this.part, { force: true });
  }
}

function lineOf({ external_id, vector, metadata, text, expires_at }: ExportedItem): Record<string, unknown> {
  return {
    external_id,
    ...(vector === undefined ? {} : { vector: Array.from(vector) }),
    ...(text === null || text === undefined ? {} : { text }),
    metadata,
    ...(expires_at === undefined ? {} : { expires_at }),
  };
}
