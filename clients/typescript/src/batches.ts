import { InvalidValueError } from './errors';

/** Items that go in one request: their JSON texts in order, and the ids that they write. */
export interface Batch<Item> {
  items: Item[];
  texts: string[];
  /** Of the texts, in UTF-8. */
  bytes: number;
  ids: Set<string>;
}

interface BatchRules<Item> {
  itemsMax: number;
  bytesMax: number;
  idOf: (item: Item) => string;
  /** Throws an InvalidValueError for an item that can't be sent. */
  textOf: (item: Item) => string;
  /** Given, takes such an item, and the others go on. */
  onUnsendable?: ((item: Item, error: InvalidValueError) => void) | undefined;
}

const { Buffer: NodeBuffer } = globalThis as { Buffer?: { byteLength(text: string): number } };
const encoder = new TextEncoder();

function utf8Bytes(text: string): number {
  return NodeBuffer === undefined ? encoder.encode(text).length : NodeBuffer.byteLength(text);
}

/** Cuts items into batches, in their order. An item that is larger than a batch may be has one of its own. */
export async function* batchesOf<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  rules: BatchRules<Item>,
): AsyncGenerator<Batch<Item>> {
  let batch = emptyBatch<Item>();
  for await (const item of items) {
    const text = textOf(item, rules);
    if (text === null) continue;
    const bytes = utf8Bytes(text);
    if (batch.items.length >= rules.itemsMax || (batch.items.length > 0 && batch.bytes + bytes > rules.bytesMax)) {
      yield batch;
      batch = emptyBatch();
    }
    batch.items.push(item);
    batch.texts.push(text);
    batch.bytes += bytes;
    batch.ids.add(rules.idOf(item));
  }
  if (batch.items.length > 0) yield batch;
}

/** Null: it can't be sent, and was handed over. */
function textOf<Item>(item: Item, rules: BatchRules<Item>): string | null {
  try {
    return rules.textOf(item);
  } catch (error) {
    if (rules.onUnsendable === undefined || !(error instanceof InvalidValueError)) throw error;
    rules.onUnsendable(item, error);
    return null;
  }
}

/** The two halves of a batch, in their order. */
export function halvesOf<Item>(batch: Batch<Item>, idOf: (item: Item) => string): [Batch<Item>, Batch<Item>] {
  const middle = Math.ceil(batch.items.length / 2);
  const part = (from: number, to: number): Batch<Item> => {
    const items = batch.items.slice(from, to);
    const texts = batch.texts.slice(from, to);
    return {
      items,
      texts,
      bytes: texts.reduce((sum, text) => sum + utf8Bytes(text), 0),
      ids: new Set(items.map(idOf)),
    };
  };
  return [part(0, middle), part(middle, batch.items.length)];
}

function emptyBatch<Item>(): Batch<Item> {
  return { items: [], texts: [], bytes: 0, ids: new Set() };
}
