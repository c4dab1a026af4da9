import { createHash } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { CommandError, EXIT_CODES } from '../command-error';
import { reasonOf } from './steady-file';

/** Of the files that a folder's documents are. */
export const DOCUMENT_SUFFIXES: readonly string[] = [
  'txt',
  'md',
  'markdown',
  'html',
  'htm',
  'pdf',
  'docx',
  'csv',
  'jsonl',
  'ndjson',
];

/** A file that is to be a document. */
export interface FoundDocument {
  path: string;
  /** Of its document: the path within the folder that was given. */
  key: string;
  /** Tells what was given, by its absolute path: 16 hexadecimal digits. */
  origin: string;
}

/** A file that is no document, and why. */
export interface AddFailure {
  file: string;
  error: string;
}

export interface FoundDocuments {
  /** In the order of their keys. */
  files: FoundDocument[];
  failed: AddFailure[];
  /** Files and folders that are hidden, linked folders, and files of other types. */
  ignored: number;
  /** Those folders. */
  linkedFolders: string[];
}

/**
 * The documents among what was given, files and folders; each file once, under the first of its keys. Links to files
 * are read, and linked folders are not: they may lead back, or anywhere. Throws a CommandError for a path that is not
 * there, where two files would be one document, and where there is nothing at all.
 */
export async function documentsIn(paths: readonly string[], prefix = ''): Promise<FoundDocuments> {
  const search = new Search(prefix);
  for (const path of paths) await search.look(path);
  const { files, failed, ignored, linkedFolders } = search;
  if (files.size === 0 && failed.length === 0)
    throw new CommandError(
      `there is no document in ${paths.join(', ')}: files are known by the endings ${DOCUMENT_SUFFIXES.join(', ')}`,
      EXIT_CODES.usage,
    );
  const inOrder = [...files.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  return { files: inOrder, failed, ignored, linkedFolders: linkedFolders.sort() };
}

class Search {
  /** By key. */
  readonly files = new Map<string, FoundDocument>();
  readonly failed: AddFailure[] = [];
  readonly linkedFolders: string[] = [];
  ignored = 0;
  private readonly taken = new Set<string>();
  private readonly utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

  constructor(private readonly prefix: string) {}

  async look(given: string): Promise<void> {
    const found = await stat(given).catch((error: unknown) => {
      throw new CommandError(`${given}: ${reasonOf(error)}`, EXIT_CODES.usage, { cause: error });
    });
    if (found.isDirectory()) return this.walk(given, '', originOf(given));
    if (!found.isFile()) throw new CommandError(`${given} is a pipe or a device, and no file`, EXIT_CODES.usage);
    this.take(given, basename(given), originOf(dirname(given)));
  }

  /** `within`: what of the path keys have. */
  private async walk(folder: string, within: string, origin: string): Promise<void> {
    let entries: Dirent<Buffer>[];
    try {
      entries = await readdir(folder, { withFileTypes: true, encoding: 'buffer' });
    } catch (error) {
      this.failed.push({ file: folder, error: `the folder can’t be read: ${reasonOf(error)}` });
      return;
    }
    for (const entry of entries) {
      const name = this.nameOf(entry);
      const path = join(folder, name ?? entry.name.toString('utf8'));
      const isLink = entry.isSymbolicLink();
      // A link to nothing is told when it is read.
      const isLinkedFolder = isLink && (await stat(path).catch(() => null))?.isDirectory() === true;
      const isFolder = entry.isDirectory();
      const isDocument = !isFolder && !isLinkedFolder && (entry.isFile() || isLink) && hasSuffix(path);
      if (name?.startsWith('.') || (!isFolder && !isDocument)) {
        this.ignored += 1;
        if (isLinkedFolder && !name?.startsWith('.')) this.linkedFolders.push(path);
      } else if (name === null) this.failed.push({ file: path, error: 'its name is no UTF-8: give it another one' });
      else if (isFolder) await this.walk(path, `${within}${name}/`, origin);
      else this.take(path, within + name, origin);
    }
  }

  /** null: it is no UTF-8. */
  private nameOf({ name }: Dirent<Buffer>): string | null {
    try {
      return this.utf8.decode(name);
    } catch {
      return null;
    }
  }

  private take(path: string, keyWithin: string, origin: string): void {
    const key = this.prefix + keyWithin;
    const place = resolve(path);
    if (this.taken.has(place)) return;
    this.taken.add(place);
    const other = this.files.get(key);
    if (other !== undefined)
      throw new CommandError(
        `${other.path} and ${path} would be one document, ${JSON.stringify(key)}: ` +
          'give a folder that has both, or add one of them with --prefix',
        EXIT_CODES.usage,
      );
    this.files.set(key, { path, key, origin });
  }
}

function hasSuffix(path: string): boolean {
  return DOCUMENT_SUFFIXES.includes(/\.(\w+)$/.exec(path)?.[1].toLowerCase() ?? '');
}

function originOf(folder: string): string {
  const place = resolve(folder).split(sep).join('/');
  return createHash('sha256').update(place).digest('hex').slice(0, 16);
}
