import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { scoreOf } from '../../../shared/contract/vector/metric';
import { SLOT_SEARCH_PLANS, type SlotScores } from '../../../node/engine/slots/slot-scores';
import { checkPut, checkQuery } from '../../../node/engine/vector/vector-arguments';
import type {
  IndexSearch,
  VectorIndex,
  VectorIndexOptions,
  VectorIndexStatus,
} from '../../../node/engine/vector/vector-index';

const SAVE_SUFFIX = '.plain';
const DIGEST_BYTES = 32;

/**
 * The vector index as a plain scan over a map: no approximation, no native code, no background work. The reference that
 * tests compare the native index with, and short enough to be checked by reading.
 */
export class PlainVectorIndex implements VectorIndex {
  private readonly bySlot = new Map<number, Float32Array>();
  private closed = false;

  private constructor(private readonly options: VectorIndexOptions) {
    mkdirSync(options.folder, { recursive: true });
  }

  /**
   * An empty index, or the one in `save` (a name that {@link save} returned). Errors: storage_failed when it is torn.
   */
  static async open(options: VectorIndexOptions, save: string | null): Promise<PlainVectorIndex> {
    const index = new PlainVectorIndex(options);
    if (save !== null) await index.load(save);
    return index;
  }

  get liveCount(): number {
    return this.bySlot.size;
  }

  put(slots: Uint32Array, vectors: Float32Array): void {
    this.checkOpen();
    const { dim } = this.options;
    checkPut(slots, vectors, dim);
    slots.forEach((slot, i) => this.bySlot.set(slot, vectors.slice(i * dim, (i + 1) * dim)));
  }

  remove(slots: Uint32Array): void {
    this.checkOpen();
    for (const slot of slots) this.bySlot.delete(slot);
  }

  async search(query: Float32Array, options: IndexSearch): Promise<SlotScores> {
    this.checkOpen();
    checkQuery(query, options.k, this.options.dim);
    const { k, allowed } = options;
    const hits: { slot: number; score: number }[] = [];
    for (const [slot, vector] of this.bySlot) {
      if (allowed === null || allowed.has(slot))
        hits.push({ slot, score: scoreOf(this.options.metric, query, vector) });
    }
    hits.sort((a, b) => b.score - a.score || a.slot - b.slot);
    let end = Math.min(k, hits.length);
    while (end > 0 && end < hits.length && hits[end].score === hits[k - 1].score) end++;
    return {
      slots: Uint32Array.from(hits.slice(0, end), (hit) => hit.slot),
      scores: Float64Array.from(hits.slice(0, end), (hit) => hit.score),
      ...(options.counted === true && {
        scored: 0,
        leftOut: 0,
        rescored: hits.length,
        expanded: 0,
        plan: SLOT_SEARCH_PLANS.indexOf('exact'),
        allowed: hits.length,
        queueMs: 0,
        filterMs: 0,
        runMs: 0,
      }),
    };
  }

  share(): null {
    return null;
  }

  async score(query: Float32Array, slots: Uint32Array): Promise<Float64Array> {
    return this.scoreNow(query, slots);
  }

  scoreNow(query: Float32Array, slots: Uint32Array): Float64Array {
    this.checkOpen();
    checkQuery(query, 1, this.options.dim);
    return Float64Array.from(slots, (slot) => {
      const vector = this.bySlot.get(slot);
      return vector === undefined ? NaN : scoreOf(this.options.metric, query, vector);
    });
  }

  vectors(slots: Uint32Array): Float32Array {
    this.checkOpen();
    const { dim } = this.options;
    const out = new Float32Array(slots.length * dim);
    slots.forEach((slot, i) => {
      const vector = this.bySlot.get(slot);
      if (vector === undefined) throw new QuiverError('internal', `slot ${slot} has no vector`);
      out.set(vector, i * dim);
    });
    return out;
  }

  status(): VectorIndexStatus {
    const rows = this.bySlot.size;
    return {
      segments: [{ kind: 'growing', rows, deletedRows: 0, ef: 0 }],
      memoryBytes: rows * this.options.dim * Float32Array.BYTES_PER_ELEMENT,
      diskBytes: 0,
      progress: { state: 'ready', rows, indexedRows: 0, refinedRows: 0, secondsLeft: 0, optimizing: false },
    };
  }

  optimize(): void {
    this.checkOpen();
  }

  async purge(): Promise<void> {}

  async settled(): Promise<void> {}

  async save(): Promise<string> {
    this.checkOpen();
    const { dim, metric, folder } = this.options;
    const slots = Uint32Array.from(this.bySlot.keys());
    const head = Buffer.from(`${JSON.stringify({ dim, metric, rows: slots.length })}\n`);
    const body = Buffer.concat([head, bytesOf(slots), bytesOf(this.vectors(slots))]);
    const taken = (await readdir(folder)).map((name) => Number.parseInt(name, 10) || 0);
    const name = `${Math.max(0, ...taken) + 1}${SAVE_SUFFIX}`;
    const file = await open(join(folder, `${name}.tmp`), 'w');
    try {
      await file.writeFile(Buffer.concat([createHash('sha256').update(body).digest(), body]));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(join(folder, `${name}.tmp`), join(folder, name));
    const directory = await open(folder, 'r');
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
    return name;
  }

  async discardOtherSaves(name: string): Promise<void> {
    for (const file of await readdir(this.options.folder)) {
      if (file !== name) await rm(join(this.options.folder, file), { recursive: true, force: true });
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    this.bySlot.clear();
  }

  private async load(save: string): Promise<void> {
    const { dim, metric, folder } = this.options;
    const file = await readFile(join(folder, save)).catch((cause: unknown) => {
      throw new QuiverError('storage_failed', 'the saved vector index cannot be read', { cause, details: { save } });
    });
    const body = file.subarray(DIGEST_BYTES);
    const digest = createHash('sha256').update(body).digest();
    if (!digest.equals(file.subarray(0, DIGEST_BYTES))) {
      throw new QuiverError('storage_failed', 'the saved vector index is torn', { details: { save } });
    }
    const headEnd = body.indexOf('\n') + 1;
    const head = JSON.parse(body.toString('utf8', 0, headEnd)) as { dim: number; metric: string; rows: number };
    if (head.dim !== dim || head.metric !== metric) {
      throw new QuiverError('storage_failed', 'the saved vector index is another one', { details: { save, ...head } });
    }
    const numbers = Uint8Array.from(body.subarray(headEnd)).buffer;
    this.put(new Uint32Array(numbers, 0, head.rows), new Float32Array(numbers, head.rows * 4));
  }

  private checkOpen(): void {
    if (this.closed) throw new QuiverError('internal', 'the vector index is closed');
  }
}

function bytesOf(array: Uint32Array | Float32Array): Buffer {
  return Buffer.from(array.buffer, array.byteOffset, array.byteLength);
}
