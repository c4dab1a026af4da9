import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { extname, join, sep } from 'node:path';
import { type BasePath, PREFIX_HEADER } from '../requests/base-path';
import type { BareAnswer } from '../endpoints/endpoint';

/** The first segment of the dashboard's paths. */
export const DASHBOARD_SEGMENT = 'ui';
const ROOT = `/${DASHBOARD_SEGMENT}`;
/** Where the page names its files; a prefix of its path goes before it. */
const LINK = `="${ROOT}/`;
const PAGE = 'index.html';
/** Where the build puts the files that have a hash of their content in their names. */
const HASHED_FOLDER = 'assets/';

/**
 * Headers of every answer: the page may run, load and ask only what is on this server, workers included, and nobody may
 * frame it. Pictures may also be made by the page itself.
 */
const BROWSER_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

const TEXT = 'text/plain; charset=utf-8';
const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': TEXT,
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};

/** The forms in which the build may have packed a file, the smallest first: the ending of its name, by its coding. */
const CODINGS = { br: '.br', gzip: '.gz' } as const;
type Coding = keyof typeof CODINGS;

/**
 * What the whole dashboard may take in memory: some twenty times of what it is. A folder with more is not a dashboard.
 */
const BYTES_MAX = 64 * 1024 * 1024;

interface BuiltFile {
  headers: OutgoingHttpHeaders;
  tag: string;
  bytes: Buffer;
  packed: Map<Coding, Buffer>;
}

/**
 * The files of the dashboard, as they were built into a folder. They are read when the first is asked for, and answered
 * from memory by their names, so no path of a request ever reaches the disk.
 */
export class DashboardFiles {
  private files: Promise<ReadonlyMap<string, BuiltFile>> | null = null;

  constructor(private readonly folder: string) {}

  /**
   * What a GET or HEAD of a path below /ui gets: `segments` are those behind /ui. The page itself for /ui; the way to
   * its view for whatever names no file; 404 for a file that is not there; 503 when nothing was built.
   */
  async answer(
    request: Pick<IncomingMessage, 'headers' | 'socket'>,
    segments: readonly string[],
    basePath: BasePath,
  ): Promise<BareAnswer> {
    const files = await this.read();
    const page = files.get(PAGE);
    if (page === undefined)
      return plain(503, 'The dashboard is not built: run `npm run setup`, which makes it, and reload this page.\n');
    const name = segments.join('/');
    const file = files.get(name) ?? (isFileName(name) ? null : page);
    // The views of the page are behind a #.
    if (file === page && name !== '' && name !== PAGE) return seeOther(`${ROOT}/#/${name}`, basePath, request, []);
    if (file === null) return plain(404, `There is no ${ROOT}/${name.slice(0, SHOWN_NAME_MAX)}.\n`);
    return file === page ? answerWith(pageUnder(basePath, request, page), request) : answerWith(file, request);
  }

  private async read(): Promise<ReadonlyMap<string, BuiltFile>> {
    this.files ??= readBuilt(this.folder);
    const files = await this.files;
    // It may be built while the service runs.
    if (files.size === 0) this.files = null;
    return files;
  }
}

/** Longest piece of a path that a message repeats. */
const SHOWN_NAME_MAX = 200;

/** Whether a path names a file rather than a view of the page. */
function isFileName(name: string): boolean {
  return name.startsWith(HASHED_FOLDER) || extname(name) !== '';
}

/** Whether the browser wants to see a page, where a program gets JSON. */
export function wantsPage(request: Pick<IncomingMessage, 'headers'>): boolean {
  return /\btext\/html\b/i.test(request.headers.accept ?? '');
}

/** Sends a browser from / to the dashboard. */
export function toDashboard(basePath: BasePath, request: Pick<IncomingMessage, 'headers' | 'socket'>): BareAnswer {
  return seeOther(ROOT, basePath, request, ['accept']);
}

/** Sends a browser to another path of this server. `asked`: the headers by which. */
function seeOther(
  path: string,
  basePath: BasePath,
  request: Pick<IncomingMessage, 'headers' | 'socket'>,
  asked: readonly string[],
): BareAnswer {
  const vary = [...asked, ...(basePath.dependsOnProxy ? [PREFIX_HEADER] : [])].join(', ');
  return {
    type: 'bare',
    status: 303,
    headers: {
      ...BROWSER_HEADERS,
      location: `${basePath.of(request)}${path}`,
      ...(vary !== '' && { vary }),
      'cache-control': 'no-store',
      'content-type': TEXT,
    },
    bytes: Buffer.alloc(0),
  };
}

/** The page, as it names its files behind a proxy. Those name each other by where they are. */
function pageUnder(
  basePath: BasePath,
  request: Pick<IncomingMessage, 'headers' | 'socket'>,
  page: BuiltFile,
): BuiltFile {
  const prefix = basePath.of(request);
  const headers = basePath.dependsOnProxy
    ? { ...page.headers, vary: `${String(page.headers.vary)}, ${PREFIX_HEADER}` }
    : page.headers;
  if (prefix === '') return { ...page, headers };
  const bytes = Buffer.from(page.bytes.toString('utf8').replaceAll(LINK, `="${prefix}${ROOT}/`));
  const tag = tagOf(bytes);
  return { headers: { ...headers, etag: tag }, tag, bytes, packed: new Map() };
}

function plain(status: number, text: string): BareAnswer {
  return {
    type: 'bare',
    status,
    headers: { ...BROWSER_HEADERS, 'content-type': TEXT, 'cache-control': 'no-store' },
    bytes: Buffer.from(text),
  };
}

function answerWith({ headers, tag, bytes, packed }: BuiltFile, request: Pick<IncomingMessage, 'headers'>): BareAnswer {
  if (isKnown(request.headers['if-none-match'], tag)) return { type: 'bare', status: 304, headers, bytes: null };
  const accepted = acceptedCodings(request.headers['accept-encoding']);
  for (const [coding, form] of packed) {
    if (accepted.has(coding))
      return { type: 'bare', status: 200, headers: { ...headers, 'content-encoding': coding }, bytes: form };
  }
  return { type: 'bare', status: 200, headers, bytes };
}

/** RFC 9110, section 13.1.2. Tags are compared weakly: the packed forms of a file share its tag. */
function isKnown(condition: string | undefined, tag: string): boolean {
  if (condition === undefined) return false;
  return condition.split(',').some((given) => given.trim() === '*' || given.trim() === tag);
}

/** The codings that a client names, but for those that it refuses by a weight of 0 (RFC 9110, section 12.5.3). */
function acceptedCodings(header: string | string[] | undefined): Set<string> {
  const accepted = new Set<string>();
  for (const part of String(header ?? '').split(',')) {
    const [coding, ...parameters] = part.split(';').map((word) => word.trim().toLowerCase());
    if (!parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))) accepted.add(coding);
  }
  return accepted;
}

/** Every file below the folder by its path there; empty if there is no page in it. */
async function readBuilt(folder: string): Promise<ReadonlyMap<string, BuiltFile>> {
  const contents = new Map<string, Buffer>();
  let bytes = 0;
  for (const path of await filesBelow(folder)) {
    const content = await readFile(join(folder, path)).catch(() => null);
    if (content === null) continue;
    bytes += content.length;
    if (bytes > BYTES_MAX) return new Map();
    contents.set(path.split(sep).join('/'), content);
  }
  const files = new Map<string, BuiltFile>();
  if (!contents.has(PAGE)) return files;
  for (const [name, content] of contents) {
    if (!isPackedForm(name, contents)) files.set(name, builtFile(name, content, contents));
  }
  return files;
}

async function filesBelow(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true, recursive: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
  } catch {
    return [];
  }
}

function isPackedForm(name: string, contents: ReadonlyMap<string, Buffer>): boolean {
  return Object.values(CODINGS).some((ending) => name.endsWith(ending) && contents.has(name.slice(0, -ending.length)));
}

function builtFile(name: string, bytes: Buffer, contents: ReadonlyMap<string, Buffer>): BuiltFile {
  const tag = tagOf(bytes);
  const packed = new Map<Coding, Buffer>();
  for (const [coding, ending] of Object.entries(CODINGS) as [Coding, string][]) {
    const form = contents.get(name + ending);
    if (form !== undefined && form.length < bytes.length) packed.set(coding, form);
  }
  const headers: OutgoingHttpHeaders = {
    ...BROWSER_HEADERS,
    'content-type': TYPES[extname(name).toLowerCase()] ?? 'application/octet-stream',
    'cache-control': name.startsWith(HASHED_FOLDER) ? 'public, max-age=31536000, immutable' : 'no-cache',
    etag: tag,
    vary: 'accept-encoding',
  };
  return { headers, tag, bytes, packed };
}

function tagOf(bytes: Buffer): string {
  return `W/"${createHash('sha256').update(bytes).digest('base64url')}"`;
}
