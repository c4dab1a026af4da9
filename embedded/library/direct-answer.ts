import type { DirectHeaders } from '../../coordinator/api/direct/direct-messages';

/** Who makes the pieces of an answer. */
interface Source {
  /** So many characters were read. */
  taken: (characters: number) => void;
  /** No more of it is read. */
  gone: () => void;
}

/** As readers of streams answer. */
type Piece = { done: true; value: undefined } | { done: false; value: Uint8Array };

const WHOLE: Source = { taken: () => undefined, gone: () => undefined };
const STATUS_OK = 200;
const STATUS_OK_END = 300;

/** An answer in the form of a Response, as far as the client needs it. */
export class DirectAnswer {
  readonly ok: boolean;
  readonly headers: { get: (name: string) => string | null };
  private readonly encoder = new TextEncoder();
  private texts: string[] = [];
  private isOver = false;
  private failure: { error: unknown } | null = null;
  private wake: (() => void) | null = null;

  constructor(
    readonly status: number,
    headers: DirectHeaders,
    private readonly source = WHOLE,
  ) {
    this.ok = status >= STATUS_OK && status < STATUS_OK_END;
    this.headers = {
      get: (name) => {
        const value = headers[name.toLowerCase()];
        return value === undefined ? null : String(value);
      },
    };
  }

  add(text: string): void {
    this.texts.push(text);
    this.wake?.();
  }

  end(): void {
    this.isOver = true;
    this.wake?.();
  }

  break(error: unknown): void {
    this.failure = { error };
    this.wake?.();
  }

  async text(): Promise<string> {
    if (this.isOver && this.texts.length === 1) return this.texts[0];
    let whole = '';
    for (let text = await this.next(); text !== null; text = await this.next()) whole += text;
    return whole;
  }

  get body(): { getReader: () => { read: () => Promise<Piece>; cancel: () => Promise<void> } } {
    const read = async (): Promise<Piece> => {
      const text = await this.next();
      return text === null ? { done: true, value: undefined } : { done: false, value: this.encoder.encode(text) };
    };
    const cancel = async (): Promise<void> => this.source.gone();
    return { getReader: () => ({ read, cancel }) };
  }

  /** The next piece; null at the end. */
  private async next(): Promise<string | null> {
    while (this.texts.length === 0 && !this.isOver && this.failure === null)
      await new Promise<void>((resolve) => (this.wake = resolve));
    if (this.failure !== null) throw this.failure.error;
    const text = this.texts.shift() ?? null;
    if (text !== null) this.source.taken(text.length);
    return text;
  }
}
