import { mutateBytes } from '../byte-mutation';
import { below, pick } from '../fuzz-target';
import type { HttpCase } from './http-case';
import { framed, inPieces } from './wire-request';

const NAMES = [
  'a.txt',
  '../../etc/passwd.txt',
  'a.pdf',
  '',
  'C:\\a\\b.txt',
  '\u202etxt.a',
  'a\u0000.txt',
  'a".txt',
  "a'; filename*=utf-8''b.txt",
  'x'.repeat(3_000),
  'é.TXT',
  '.txt',
  'a.txt.exe',
  '%2e%2e%2fa.txt',
  '\ud800.txt',
];
const FIELD_NAMES = [
  'collection_name',
  'collection_name',
  'collection_name',
  'file',
  'metadata',
  'include_timing',
  '__proto__',
  '',
  'x'.repeat(400),
];
const VALUES = ['fuzzed', 'fuzzed', 'fuzzed', 'absent', '', 'true', '__proto__', 'a'.repeat(6_000), '\u0000'];
const TEXTS = [
  '',
  'A sentence. Another one!',
  'a'.repeat(5_000),
  '\u0640'.repeat(800) + "'s",
  'e\u0301'.repeat(900),
  '\n'.repeat(2_000),
  '漢字'.repeat(700),
  '\ufeffBOM',
  '\u{1f468}\u200d'.repeat(400),
  ' '.repeat(4_000),
];
const BOUNDARIES = ['b', 'b', 'boundary', '-'.repeat(70), 'a b', "'()+_,-./:=?", 'x'.repeat(200), ''];
const TYPES = ['text/plain', 'text/plain; charset=utf-16', 'application/pdf', 'text/plain; charset=x', ''];

/** Forms of a file and fields in any order, number and spelling, whole or changed at any byte. */
export class UploadCases {
  constructor(private readonly parts: { key: string }) {}

  generate(random: () => number): HttpCase {
    const uploads = Array.from({ length: pick(random, [1, 1, 2]) }, () => this.upload(random));
    return { pieces: inPieces(random, Buffer.concat(uploads)), requests: uploads.length, aborts: random() < 0.1 };
  }

  private upload(random: () => number): Buffer {
    const boundary = pick(random, BOUNDARIES);
    const parts = Array.from({ length: pick(random, [1, 2, 2, 2, 3, 45]) }, () =>
      random() < 0.5 ? fieldPart(random) : filePart(random),
    );
    if (random() < 0.5)
      parts.push(part('form-data; name="collection_name"', null, Buffer.from('fuzzed')), filePart(random));
    let body: Buffer = Buffer.concat([
      ...parts.flatMap((one) => [Buffer.from(`--${boundary}\r\n`), one]),
      Buffer.from(random() < 0.9 ? `--${boundary}--\r\n` : ''),
    ]);
    if (random() < 0.4) body = mutateBytes(random, body);
    const named = random() < 0.9 ? `; boundary=${/[^\w-]/.test(boundary) ? `"${boundary}"` : boundary}` : '';
    const headers = {
      'x-api-key': this.parts.key,
      'content-type': `${pick(random, ['multipart/form-data', 'multipart/form-data', 'multipart/mixed'])}${named}`,
    };
    return framed(random, { method: 'POST', path: '/v1/documents/upload', headers, body });
  }
}

function fieldPart(random: () => number): Buffer {
  return part(`form-data; name="${pick(random, FIELD_NAMES)}"`, null, Buffer.from(pick(random, VALUES)));
}

function filePart(random: () => number): Buffer {
  const content =
    random() < 0.8
      ? Buffer.from(pick(random, TEXTS))
      : Buffer.from(Array.from({ length: 200 }, () => below(random, 256)));
  return part(
    `form-data; name="${random() < 0.9 ? 'file' : pick(random, FIELD_NAMES)}"; filename="${pick(random, NAMES)}"`,
    pick(random, TYPES),
    content,
  );
}

function part(disposition: string, type: string | null, content: Buffer): Buffer {
  return Buffer.concat([
    Buffer.from(`content-disposition: ${disposition}\r\n${type === null ? '' : `content-type: ${type}\r\n`}\r\n`),
    content,
    Buffer.from('\r\n'),
  ]);
}
