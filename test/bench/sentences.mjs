import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

/** Long enough to mean something, short enough that a model embeds hundreds in a second. */
const SENTENCE_CHARACTERS_MIN = 30;
const SENTENCE_CHARACTERS_MAX = 200;
/** Files above this are archives or tables rather than prose. */
const FILE_BYTES_MAX = 64 * 1024 * 1024;
const SKIPPED_NAME =
  /\.(?:png|jpe?g|gif|svg|css|js|mjs|cjs|map|json|node|so|a|o|index|xml|ico|woff2?|pdf|zip|xz|bz2|deb|ts|wasm|onnx)$/i;
const COMPRESSED_NAME = /\.(?:gz|dz)$/i;

function* filesUnder(path) {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats?.isFile() && stats.size <= FILE_BYTES_MAX && !SKIPPED_NAME.test(path.replace(COMPRESSED_NAME, '')))
    yield path;
  if (!stats?.isDirectory()) return;
  for (const entry of readdirSync(path).sort()) yield* filesUnder(join(path, entry));
}

function textOf(path) {
  const bytes = readFileSync(path);
  let plain = bytes;
  if (COMPRESSED_NAME.test(path)) {
    try {
      plain = gunzipSync(bytes);
    } catch {
      return '';
    }
  }
  // A zero byte in the first block is what tells a binary file from text.
  return plain.subarray(0, 4096).includes(0) ? '' : plain.toString('utf8');
}

/** Text without markup: roff requests and escapes, HTML tags and entities, Markdown marks. */
function withoutMarkup(path, text) {
  const name = path.replace(COMPRESSED_NAME, '');
  if (/\.[1-9][a-z]*$/.test(name)) {
    return text
      .replace(/^['.].*$/gm, '')
      .replace(/\\f(?:\[\w*\]|\(..|.)/g, '')
      .replace(/\\[&/,|^]/g, '')
      .replace(/\\\(../g, ' ')
      .replace(/\\-/g, '-');
  }
  if (/\.html?$/.test(name)) {
    return text
      .replace(/<(script|style|pre)\b[\s\S]*?<\/\1>/gi, ' ')
      .replace(/<\/?(?:p|li|dd|dt|td|h\d|div)\b[^>]*>/gi, '\n\n')
      .replace(/<[^>]*>/g, '')
      .replace(/&(?:#\d+|#x[\da-f]+|\w+);/gi, ' ');
  }
  return text.replace(/^%$/gm, '\n').replace(/[*_#`{}|\\]+/g, ' ');
}

/**
 * The distinct sentences of the text files under some folders (plain, Markdown, HTML, manual pages and dictionaries,
 * gzipped or not), in the order of the files; each 30 to 200 characters, longer ones cut at a word.
 */
export function readSentences(folders) {
  const seen = new Set();
  for (const file of folders.flatMap((folder) => [...filesUnder(folder)])) {
    const text = withoutMarkup(file, textOf(file));
    for (const paragraph of text.split(/\n\s*\n|\n(?=\S[^\n]{0,60}\n {2,})|;\s*\n?\s*(?=")|\n\s+(?=\d+[.:] )/)) {
      for (const raw of paragraph.replace(/\s+/g, ' ').split(/(?<=[.!?;])\s+(?=["'(]?[A-Z0-9"])|\s(?=\d+: )/)) {
        const sentence = cutAtWord(raw.replace(/^(?:\d+:|[>%-]) /, '').trim());
        const letters = sentence.match(/\p{L}/gu)?.length ?? 0;
        if (sentence.length >= SENTENCE_CHARACTERS_MIN && letters > sentence.length * 0.65 && sentence.includes(' '))
          seen.add(sentence);
      }
    }
  }
  return [...seen];
}

function cutAtWord(text) {
  if (text.length <= SENTENCE_CHARACTERS_MAX) return text;
  const cut = text.lastIndexOf(' ', SENTENCE_CHARACTERS_MAX);
  return text.slice(0, cut > SENTENCE_CHARACTERS_MAX / 2 ? cut : SENTENCE_CHARACTERS_MAX);
}
