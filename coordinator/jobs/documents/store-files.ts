import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import type { ClusterStore, StoreChange } from '../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { DocumentSource } from '../../service/documents/formats/parsed-document';
import type { WaitingFiles } from './waiting-files';

/** `/q/document-files/<id>`: how many pieces a file has; null: it is not all there. */
const FILES_PREFIX = '/q/document-files/';
/** `/q/document-pieces/<id>/<number>`. */
const PIECES_PREFIX = '/q/document-pieces/';
/** etcd takes 1.5 MiB in a request, and base64 makes four bytes of three. */
const PIECE_BYTES = 512 * 1024;
const DELETED_AT_ONCE = 100;

const packed = promisify<Buffer, Buffer>(deflateRaw);
const unpacked = promisify<Buffer, Buffer>(inflateRaw);

/**
 * Files in pieces in the cluster store, where any coordinator finds them: nodes have no place for what is no item, and
 * a backup target need not be there. All that wait are bounded, so that etcd has room for the rest.
 */
export class StoreFiles implements WaitingFiles {
  /** etcd takes 2 GiB by default, of which what is deleted is a part until it is compacted. */
  readonly bounds = { bytesMax: 256 * 1024 * 1024, writtenMax: 640 * 1024 * 1024 };

  constructor(private readonly store: ClusterStore) {}

  async left(): Promise<number> {
    return Infinity;
  }

  async put(id: string, content: AsyncIterable<Buffer>): Promise<number> {
    const pieces = piecesOf(content);
    let count = 0;
    let bytes = 0;
    try {
      let next = await pieces.next();
      for (let piece = next; piece.done !== true; piece = next) {
        next = await pieces.next();
        const value = (await packed(piece.value)).toString('base64');
        const put: StoreChange = { type: 'put', key: pieceKey(id, count), value };
        count += 1;
        bytes += value.length;
        // Most files are one piece: of others, it is known before the first one that there will be some.
        const isLast = next.done === true;
        const isNoted = count === 1 || isLast;
        await this.apply(isNoted ? [put, noteOf(id, isLast ? count : null)] : [put]);
      }
      if (count === 0) await this.apply([noteOf(id, 0)]);
      return bytes;
    } catch (error) {
      await this.remove(id, count).catch(() => undefined);
      throw error;
    }
  }

  async find(id: string): Promise<DocumentSource['content'] | null> {
    const pieces = await this.piecesOf(id);
    if (pieces === null) return null;
    const read: Buffer[] = [];
    for (let at = 0; at < pieces; at += 1) {
      const entry = await this.store.get(pieceKey(id, at));
      if (entry === null) return null;
      read.push(await unpacked(Buffer.from(entry.value, 'base64')));
    }
    return { bytes: Buffer.concat(read) };
  }

  async delete(id: string): Promise<void> {
    const pieces = await this.piecesOf(id);
    // Of one that was not finished, the pieces are known only by looking.
    const count = pieces ?? (await this.store.list(`${PIECES_PREFIX}${id}/`)).entries.length;
    await this.remove(id, count);
  }

  async list(): Promise<string[]> {
    const { entries } = await this.store.list(FILES_PREFIX);
    return entries.map(({ key }) => key.slice(FILES_PREFIX.length));
  }

  private async piecesOf(id: string): Promise<number | null> {
    const entry = await this.store.get(FILES_PREFIX + id);
    if (entry === null) return null;
    const { pieces } = JSON.parse(entry.value) as { pieces?: unknown };
    if (pieces !== null && typeof pieces !== 'number')
      throw new QuiverError('storage_failed', `the stored file at ${entry.key} is unreadable`);
    return pieces;
  }

  /** The entry last: while it is there, what is left can be found. */
  private async remove(id: string, pieces: number): Promise<void> {
    const gone: StoreChange[] = Array.from({ length: pieces }, (_, at) => ({ type: 'delete', key: pieceKey(id, at) }));
    gone.push({ type: 'delete', key: FILES_PREFIX + id });
    for (let from = 0; from < gone.length; from += DELETED_AT_ONCE)
      await this.apply(gone.slice(from, from + DELETED_AT_ONCE));
  }

  private async apply(changes: StoreChange[]): Promise<void> {
    await this.store.transact([], changes);
  }
}

function noteOf(id: string, pieces: number | null): StoreChange {
  return { type: 'put', key: FILES_PREFIX + id, value: JSON.stringify({ pieces }) };
}

function pieceKey(id: string, at: number): string {
  return `${PIECES_PREFIX}${id}/${at}`;
}

async function* piecesOf(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for await (const part of content) {
    waiting.push(part);
    bytes += part.length;
    if (bytes < PIECE_BYTES) continue;
    const all = Buffer.concat(waiting);
    let at = 0;
    for (; all.length - at >= PIECE_BYTES; at += PIECE_BYTES) yield all.subarray(at, at + PIECE_BYTES);
    waiting = [all.subarray(at)];
    bytes = all.length - at;
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}
