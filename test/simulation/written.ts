import type { LogEntry } from '../../node/replication/core/replica-state';
/** What a simulated write writes, as its payload. Values are never written twice. */
export interface Written {
  key: string;
  value: number;
}

const known = new WeakMap<Buffer, Written>();

export function payloadOf(written: Written): Buffer {
  const payload = Buffer.from(`${written.key}:${written.value}`);
  known.set(payload, written);
  return payload;
}

export function writtenBy(payload: Buffer): Written {
  return known.get(payload)!;
}

/** How a program of before there were such writes sees the entry. */
export function asUnknown(entry: LogEntry): LogEntry {
  return entry.write === null ? entry : { ...entry, unknown: 'of a later version' };
}
