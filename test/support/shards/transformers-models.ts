import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EmbeddingModel } from '../../../coordinator/models/embedding-provider';
import {
  transformersLoader,
  type TransformersOptions,
} from '../../../coordinator/models/transformers/transformers-loader';
import type { LogFields } from '../../../shared/base/logs/logger';
import { systemClock } from '../../../shared/base/time/clock';

/** A folder for models, a loader with the worker from its source, and what it logs; `close` ends and removes all. */
export class TransformersModels {
  readonly folder = mkdtempSync(join(tmpdir(), 'quiver-models-'));
  readonly logged: { message: string; fields: LogFields }[] = [];
  private readonly opened: EmbeddingModel[] = [];

  path(name: string): string {
    return join(this.folder, name);
  }

  /** Opens a model; one thread and no network unless said otherwise. */
  async open(name: string, options: Partial<TransformersOptions> = {}): Promise<EmbeddingModel> {
    const note = (fields: LogFields, message: string): void => void this.logged.push({ message, fields });
    const load = transformersLoader({
      dtype: 'auto',
      cacheDir: this.path('cache'),
      isOffline: true,
      hub: 'http://127.0.0.1:9',
      threads: 1,
      timeoutMs: 30_000,
      clock: systemClock,
      log: { info: note, warn: note, error: note },
      workerFile: join(__dirname, '../threads/embedding-worker.js'),
      ...options,
    });
    const model = await load(name);
    this.opened.push(model);
    return model;
  }

  async close(): Promise<void> {
    await Promise.all(this.opened.map(async (model) => model.close?.()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Cosine of two vectors of one length. */
export function cosine(a: Float32Array, b: Float32Array): number {
  let [product, left, right] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    product += a[i] * b[i];
    left += a[i] * a[i];
    right += b[i] * b[i];
  }
  return product / Math.sqrt(left * right);
}
