/** An item as it was read. The vector is a list of numbers when the file holds text, else floats. */
export interface ExportedItem {
  external_id: string;
  vector?: number[] | Float32Array;
  metadata: Record<string, unknown>;
  text?: string | null;
  expires_at?: string;
}

/** Where a file is written until it is whole; of this process alone, because two may write the same. */
export function partOf(path: string): string {
  return `${path}.${process.pid}.part`;
}

/** Takes items in their order and writes a file of them, with a bounded number of them in memory. */
export interface ItemWriter {
  /** Whether vectors are wanted as numbers as the service wrote them; otherwise as floats. */
  readonly wantsNumbers: boolean;
  write(items: ExportedItem[]): Promise<void>;
  /** The file is whole: it gets its name. */
  finish(): Promise<void>;
  /** Leaves nothing behind. */
  abandon(): Promise<void>;
}
