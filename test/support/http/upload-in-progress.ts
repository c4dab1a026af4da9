import type { ApiTarget } from '../targets/api-target';
import { RawConnection } from './raw-connection';

const BOUNDARY = 'a-boundary-that-is-not-in-the-parts';
const PART = `--${BOUNDARY}\r\nContent-Disposition: form-data; `;

/** An upload whose file is sent piece by piece, for what happens while it is under way. */
export class UploadInProgress {
  private constructor(private readonly connection: RawConnection) {}

  /** Begins an upload of `fileBytes` bytes into a collection; the field comes before or after the file. */
  static async begin(
    target: Pick<ApiTarget, 'baseUrl' | 'adminKey'>,
    upload: { collection: string; fileBytes: number; fieldFirst?: boolean },
  ): Promise<UploadInProgress> {
    const field = `${PART}name="collection_name"\r\n\r\n${upload.collection}\r\n`;
    const file = `${PART}name="file"; filename="long.txt"\r\nContent-Type: text/plain\r\n\r\n`;
    const { fieldFirst = true } = upload;
    const before = fieldFirst ? field + file : file;
    const after = `\r\n${fieldFirst ? '' : field}--${BOUNDARY}--\r\n`;
    const connection = await RawConnection.open(target);
    const length = before.length + upload.fileBytes + after.length;
    const headers = {
      host: 'test',
      'x-api-key': target.adminKey,
      'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
      'content-length': length,
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    await connection.send(`POST /v1/documents/upload HTTP/1.1\r\n${lines.join('')}\r\n${before}`);
    const begun = new UploadInProgress(connection);
    begun.rest = after;
    return begun;
  }

  private rest = '';

  /** Resolves when the system has taken the piece. */
  send(piece: string | Buffer): Promise<void> {
    return this.connection.send(piece);
  }

  /** Sends what comes behind the file and answers the envelope. */
  async finish(): Promise<any> {
    await this.connection.send(this.rest);
    const text = await this.connection.until(/"error":(?:null|\{[^}]*\})\}$/);
    this.connection.socket.destroy();
    return JSON.parse(text.slice(text.lastIndexOf('{"status"')));
  }

  /** Goes away without a word. */
  abandon(): void {
    this.connection.socket.destroy();
  }
}
