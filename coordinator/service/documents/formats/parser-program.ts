import { Worker } from 'node:worker_threads';
import { isQuiverError, QuiverError } from '../../../../shared/base/errors/quiver-error';
import {
  MEMORY_WORD,
  ORPHAN_WORD,
  type ParserProcessSettings,
  type ParserReply,
  type ParserRequest,
} from './parser-messages';
import { refuseNetwork } from './refused-network';
import { readDocument } from './read-document';

/** Of a text and of rows, in one message. */
const TEXT_PART_LENGTH = 1 << 18;
const ROWS_PART_LENGTH = 1_000;
/** How often memory is looked at: a process takes some tens of megabytes in this time. */
const WATCH_MS = 20;

/**
 * The watching thread: ends the process once it has more memory than it may, whatever its main thread is doing, or once
 * the service is gone, whose end the main thread does not hear while it reads.
 */
const WATCH = `
const { writeSync } = require('node:fs');
const { workerData: { parent, bytesMax, watchMs, memoryWord, orphanWord } } = require('node:worker_threads');
const pause = new Int32Array(new SharedArrayBuffer(4));
const end = (word) => { writeSync(2, word + '\\n'); process.kill(process.pid, 'SIGKILL'); };
for (;;) {
  if (process.memoryUsage.rss() > bytesMax) end(memoryWord);
  if (process.ppid !== parent) end(orphanWord);
  Atomics.wait(pause, 0, 0, watchMs);
}`;

/** The entry point of the process: reads one file after another, as the service sends them. */
function main(settings: ParserProcessSettings): void {
  refuseNetwork();
  watch(settings);
  let file: { begin: Extract<ParserRequest, { say: 'begin' }>; parts: Uint8Array[]; bytes: number } | null = null;
  process.on('message', (request: ParserRequest) => {
    if (request.say === 'begin') file = { begin: request, parts: [], bytes: 0 };
    else if (file === null) return;
    else if (request.say === 'part') {
      file.bytes += request.bytes.length;
      // The rest of it is not kept.
      if (file.bytes <= file.begin.bytesMax) file.parts.push(request.bytes);
      else file.parts = [];
    } else {
      const { begin, parts, bytes } = file;
      file = null;
      void answer(begin, parts, bytes);
    }
  });
  process.once('disconnect', () => process.exit());
}

async function answer(
  { type, bytesMax, charactersMax }: Extract<ParserRequest, { say: 'begin' }>,
  parts: Uint8Array[],
  bytes: number,
): Promise<void> {
  try {
    if (bytes > bytesMax) throw new QuiverError('limit_exceeded', `The file is larger than ${bytesMax} bytes`);
    if (bytes === 0) throw new QuiverError('invalid_parameter', 'The file is empty');
    const { text, rows, ...document } = await readDocument(Buffer.concat(parts), type, { charactersMax });
    for (let at = 0; at < text.length; at += TEXT_PART_LENGTH)
      say({ say: 'text', text: text.slice(at, at + TEXT_PART_LENGTH) });
    if (rows !== undefined) {
      for (let at = 0; at < rows.length; at += ROWS_PART_LENGTH)
        say({ say: 'rows', rows: rows.slice(at, at + ROWS_PART_LENGTH) });
    }
    say({ say: 'done', document });
  } catch (error) {
    const { kind, message } = isQuiverError(error)
      ? error
      : new QuiverError('internal', 'The parser failed', { cause: error });
    say({ say: 'failed', kind, message });
  }
}

function say(reply: ParserReply): void {
  process.send!(reply);
}

function watch({ memoryMiB }: ParserProcessSettings): void {
  const workerData = {
    parent: process.ppid,
    bytesMax: memoryMiB * 1024 * 1024,
    watchMs: WATCH_MS,
    memoryWord: MEMORY_WORD,
    orphanWord: ORPHAN_WORD,
  };
  new Worker(WATCH, { eval: true, workerData, name: 'watch' }).unref();
}

if (process.send !== undefined) main(JSON.parse(process.argv[2]) as ParserProcessSettings);
