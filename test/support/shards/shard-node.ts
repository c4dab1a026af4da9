import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { MemoryFilterIndex } from '../../../node/engine/filter/memory-filter-index';
import { Bm25KeywordIndex } from '../../../node/engine/keyword/bm25-keyword-index';
import { MemoryKeyValueStore } from '../models/memory-key-value-store';
import { RocksKeyValueStore } from '../../../node/engine/kv/rocks-key-value-store';
import { LocalShardClient } from '../../../node/engine/shard/local-shard-client';
import { ShardHost } from '../../../node/engine/shard/opening/shard-host';
import type { IndexFactories } from '../../../node/engine/shard/shard-indexes';
import type { RestOptions } from '../../../node/engine/shard/opening/shard-rests';
import type { ShardLogger, ShardOptions } from '../../../node/engine/shard/shard-options';
import { DiskVectorIndex } from '../../../node/engine/vector/disk-vector-index';
import { NativeVectorIndex } from '../../../node/engine/vector/native-vector-index';
import { PlainVectorIndex } from '../models/plain-vector-index';
import type { Quantization } from '../../../shared/contract/vector/quantization';
import { type Clock, systemClock } from '../../../shared/base/time/clock';
import { inSlices } from '../../../shared/base/time/work-slices';
import { DATA_PARENT } from '../memory-folder';

const textIndexes: Pick<IndexFactories, 'loadFilterIndex' | 'loadKeywordIndex'> = {
  loadFilterIndex: async (bytes, items) =>
    bytes === null ? new MemoryFilterIndex(items) : inSlices(MemoryFilterIndex.loadInSteps(bytes, items)),
  loadKeywordIndex: async (bytes, analyser, fields) =>
    bytes === null
      ? new Bm25KeywordIndex({ analyser, fields })
      : inSlices(Bm25KeywordIndex.loadInSteps(bytes, { analyser, fields })),
};

/** A shard's indexes with vectors compared one by one, with the native graph, and with small segments on the disk. */
export const plainFactories: IndexFactories = {
  ...textIndexes,
  openVectorIndex: (options, save) => PlainVectorIndex.open(options, save),
};
export const nativeFactories: IndexFactories = {
  ...textIndexes,
  openVectorIndex: (options, save) => NativeVectorIndex.open(options, save),
};
export const diskFactories: IndexFactories = {
  ...textIndexes,
  openVectorIndex: (options, save) => DiskVectorIndex.open({ ...options, segmentRows: 100 }, save),
};

/** Graphs from few rows on, and codes of so many bits. */
export const graphFactories = (quantization: Quantization): IndexFactories => ({
  ...textIndexes,
  openVectorIndex: (options, save) => NativeVectorIndex.open({ ...options, quantization, graphRowsMin: 100 }, save),
});
/** Small segments on disk, and codes of so many bits. */
export const quantizedDiskFactories = (quantization: Quantization): IndexFactories => ({
  ...textIndexes,
  openVectorIndex: (options, save) => DiskVectorIndex.open({ ...options, quantization, segmentRows: 100 }, save),
});

export const openMemoryStore: ShardOptions['openStore'] = async () => new MemoryKeyValueStore();
export const openRocksStore: ShardOptions['openStore'] = (folder, how) =>
  RocksKeyValueStore.open(folder, undefined, how);

/** Remembers what a node logged, so that a test can ask. */
export class LogMemory implements ShardLogger {
  readonly lines: { level: 'info' | 'warn' | 'error'; message: string; fields: Record<string, unknown> }[] = [];

  info(fields: Record<string, unknown>, message: string): void {
    this.lines.push({ level: 'info', message, fields });
  }

  warn(fields: Record<string, unknown>, message: string): void {
    this.lines.push({ level: 'warn', message, fields });
  }

  error(fields: Record<string, unknown>, message: string): void {
    this.lines.push({ level: 'error', message, fields });
  }

  messages(level: 'info' | 'warn' | 'error'): string[] {
    return this.lines.filter((line) => line.level === level).map((line) => line.message);
  }
}

/** A node of one process: its shard host and the client to it, over a folder that outlives restarts. */
export class ShardNode {
  readonly folder: string;
  readonly log = new LogMemory();
  host!: ShardHost;
  client!: LocalShardClient;
  private readonly parts: {
    factories: IndexFactories;
    openStore: ShardOptions['openStore'];
    clock?: Clock;
    fieldsMax?: number;
    backups?: ShardOptions['backups'];
    rests?: RestOptions;
    openShardsMax?: number;
  };
  private readonly ownsFolder: boolean;

  constructor(parts: {
    factories: IndexFactories;
    openStore: ShardOptions['openStore'];
    clock?: Clock;
    folder?: string;
    fieldsMax?: number;
    backups?: ShardOptions['backups'];
    rests?: RestOptions;
    openShardsMax?: number;
  }) {
    this.parts = parts;
    this.ownsFolder = parts.folder === undefined;
    this.folder = parts.folder ?? mkdtempSync(join(DATA_PARENT, 'quiver-shard-'));
  }

  async start(): Promise<this> {
    const { factories, openStore, clock, fieldsMax, backups, rests, openShardsMax = Infinity } = this.parts;
    const wallMs = clock && (() => clock.wallMs());
    this.host = await ShardHost.start(this.folder, {
      wallMs,
      factories,
      openStore,
      recallTarget: 0.99,
      buildThreads: 1,
      logger: this.log,
      openShardsMax,
      fieldsMax,
      backups,
      rests,
    });
    this.client = new LocalShardClient({ host: this.host, clock: clock ?? systemClock });
    return this;
  }

  stop(): Promise<void> {
    return this.host.close();
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  async destroy(): Promise<void> {
    await this.stop();
    if (this.ownsFolder) rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A deadline that no test reaches. */
export const NO_HURRY = { deadlineMs: Number.MAX_SAFE_INTEGER };
