import type { RequestBody } from './request';

/** What a document's text may come as. */
export type UploadSource =
  | string
  | Uint8Array
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>
  | Iterable<Uint8Array>;

/** Bytes of the file that were handed over, and all there are; null of a stream. */
export interface UploadProgress {
  bytes: number;
  totalBytes: number | null;
}

/** Bytes of a file that are handed over at once. */
const PIECE_BYTES = 64 * 1024;

/**
 * The body of an upload: fields first, then the file. It is sent while it is read where the runtime sends streams; a
 * browser gets it whole, because it sends streams over HTTP/2 only.
 */
export function uploadBody(
  fields: Record<string, string>,
  file: { name: string; source: UploadSource },
  onProgress?: (progress: UploadProgress) => void,
): RequestBody {
  const boundary = `quiver-${randomText()}`;
  const encoder = new TextEncoder();
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const head = encoder.encode(
    `${parts.join('')}--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${quoted(file.name)}"\r\nContent-Type: text/plain\r\n\r\n`,
  );
  const tail = encoder.encode(`\r\n--${boundary}--\r\n`);
  const source = typeof file.source === 'string' ? encoder.encode(file.source) : file.source;
  const isWhole = source instanceof Uint8Array || source instanceof Blob;
  const totalBytes = source instanceof Uint8Array ? source.length : source instanceof Blob ? source.size : null;

  let failure: { error: unknown } | null = null;
  async function* pieces(onPiece: () => void): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    yield head;
    try {
      for await (const piece of piecesOf(source)) {
        yield piece;
        onPiece();
        bytes += piece.length;
        onProgress?.({ bytes, totalBytes });
      }
    } catch (error) {
      failure = { error };
      throw error;
    }
    yield tail;
  }
  const contentType = `multipart/form-data; boundary=${boundary}`;
  if (sendsStreams())
    return { contentType, open: (onPiece) => streamOf(pieces(onPiece)), isRepeatable: isWhole, failure: () => failure };
  if (!isWhole) throw new TypeError('browsers send files, texts and bytes, but no streams');
  // How much of it went is not told there.
  const report = (bytes: number): void => onProgress?.({ bytes, totalBytes });
  const open = (): Blob => {
    report(0);
    return new Blob([head, source as Blob, tail]);
  };
  return { contentType, open, isRepeatable: true, onAnswered: () => report(totalBytes ?? 0) };
}

async function* piecesOf(source: Exclude<UploadSource, string>): AsyncGenerator<Uint8Array> {
  if (source instanceof Uint8Array) {
    for (let i = 0; i < source.length; i += PIECE_BYTES) yield source.subarray(i, i + PIECE_BYTES);
  } else if (source instanceof Blob) {
    yield* piecesOf(source.stream());
  } else if ('getReader' in source) {
    const reader = source.getReader();
    try {
      for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read())
        if (value !== undefined) yield value;
    } finally {
      await reader.cancel().catch(() => undefined);
    }
  } else {
    yield* source;
  }
}

/** A stream that asks for the next piece when the last one was taken. */
function streamOf(pieces: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await pieces.return(undefined)),
  });
}

/** Node, Deno and Bun do; browsers have a `document`, or are workers without any of those names. */
function sendsStreams(): boolean {
  const { process, Deno, Bun, document } = globalThis as {
    process?: { versions?: { node?: string } };
    Deno?: unknown;
    Bun?: unknown;
    document?: unknown;
  };
  return document === undefined && (process?.versions?.node !== undefined || Deno !== undefined || Bun !== undefined);
}

/** A file's name as the header has it. */
function quoted(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function randomText(): string {
  return Array.from({ length: 4 }, () => Math.random().toString(36).slice(2, 10)).join('');
}
