import type { DocumentSource } from '../../service/documents/formats/parsed-document';
import type { RoomBounds } from './document-room';

/** Files that wait for the job that stores them, each under the job's id. */
export interface WaitingFiles {
  /** Bytes that may wait at once, and that may be written in some minutes. */
  readonly bounds: Pick<RoomBounds, 'bytesMax' | 'writtenMax'>;
  /** Bytes that their place can take now, beside what it keeps for others. Errors: storage_failed. */
  left(): Promise<number>;
  /**
   * Stores a file, and answers the bytes that it takes; it is on stable storage, and whoever drives jobs can read it,
   * when this resolves. Errors: storage_failed; overloaded, when the place gets full meanwhile; unavailable; those of
   * `content`. Nothing is kept then.
   */
  put(id: string, content: AsyncIterable<Buffer>): Promise<number>;
  /** Where its bytes are; null: it is not there. Errors: unavailable; storage_failed. */
  find(id: string): Promise<DocumentSource['content'] | null>;
  /** Does nothing for one that is not there. Errors: unavailable; storage_failed. */
  delete(id: string): Promise<void>;
  /** Ids of all. Errors: unavailable; storage_failed. */
  list(): Promise<string[]>;
}
