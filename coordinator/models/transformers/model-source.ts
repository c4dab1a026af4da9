import { readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import type { EmbeddingThread } from './embedding-thread';
import { HubCache } from './hub-cache';
import { HubDownload } from './hub-download';
import { describeModel, type ModelDescription } from './model-description';
import { modelFailure } from './model-failure';
import { digestOfFiles } from './model-lock';
import { pinOf } from './model-pin';
import { variantPath } from './model-variant';

/** Where models come from. */
export interface ModelSourceOptions {
  /** A name of model-variant.ts, or `auto`. */
  dtype: string;
  /** The folder for models of the hub. */
  cacheDir: string;
  isOffline: boolean;
  /** For example https://huggingface.co. */
  hub: string;
  /**
   * The revision on the hub and the SHA-256 of the graph that an operator has fixed for one model, by the setting of
   * that name (default: EMBEDDING_SHA256); '' if not set.
   */
  pin?: { model: string; revision: string; sha256: string; setting?: string };
  clock: Clock;
  log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Aborted when the process is asked to end: downloads are given up. */
  stopSignal?: AbortSignal;
}

/** A model's files, which are what they are to be. */
export interface FoundModel {
  description: ModelDescription;
  /** Whether it is a folder that somebody else filled. */
  isLocal: boolean;
}

/** `owner/name` or `name`, as on the hub. */
const HUB_NAME = /^[A-Za-z0-9][\w.-]*(?:\/[A-Za-z0-9][\w.-]*)?$/;

/** Finds models by name: a local folder if there is one of that name, otherwise one of the hub, which is fetched. */
export class ModelSource {
  private readonly cache: HubCache;

  constructor(private readonly options: ModelSourceOptions) {
    const { clock, log, pin } = options;
    this.cache = new HubCache({
      folder: options.cacheDir,
      isOffline: options.isOffline,
      hub: new HubDownload({ hub: options.hub, clock, log, stopSignal: options.stopSignal }),
      log,
      pinOf: (name) => pinOf(name, name === pin?.model ? pin.revision : ''),
    });
  }

  /** `dtype`: default: that of the options. Errors: embedding_unavailable with the reason. */
  async find(name: string, dtype = this.options.dtype): Promise<FoundModel> {
    const { pin } = this.options;
    const isLocal = isFolder(resolve(name));
    const folder = isLocal ? resolve(name) : await this.cache.folderOf(hubName(name), dtype);
    const description = await describeModel({ name, folder, dtype }).catch((error: unknown) => refuse(error, isLocal));
    if (name === pin?.model && pin.sha256 !== '') await checkGraph(description, pin.sha256, pin.setting);
    return { description, isLocal };
  }
}

/**
 * The first thread, which shows whether the model works at all, and as many others as start. Errors:
 * embedding_unavailable when the first does not.
 */
export async function startedThreads({
  name,
  isLocal,
  threads,
  start,
  log,
}: Pick<FoundModel, 'isLocal'> &
  Pick<ModelSourceOptions, 'log'> & {
    name: string;
    threads: number;
    start: () => Promise<EmbeddingThread>;
  }): Promise<EmbeddingThread[]> {
  const first = await start().catch((error: unknown) => refuse(error, isLocal));
  const others = await Promise.allSettled(Array.from({ length: threads - 1 }, start));
  for (const other of others)
    if (other.status === 'rejected')
      log.warn({ model: name, error: other.reason as unknown }, 'an embedding worker could not be started');
  return [first, ...others.flatMap((other) => (other.status === 'fulfilled' ? [other.value] : []))];
}

/** A file may have been damaged after it was fetched; only the operator can know. */
function refuse(error: unknown, isLocal: boolean): never {
  if (isLocal || !isQuiverError(error)) throw error;
  throw modelFailure(`${error.message}; remove it from EMBEDDING_CACHE_DIR to have it fetched again`, error);
}

/**
 * Checks the digest of the graph, followed by the weights beside it, if any, in the order of their names. Errors:
 * embedding_unavailable.
 */
async function checkGraph(
  { folder, variant }: ModelDescription,
  wanted: string,
  setting = 'EMBEDDING_SHA256',
): Promise<void> {
  const graph = variantPath(variant);
  const parts = readdirSync(join(folder, 'onnx'))
    .map((file) => `onnx/${file}`)
    .filter((path) => path.startsWith(`${graph}_data`));
  const digest = await digestOfFiles(folder, [graph, ...parts.sort()]);
  if (digest !== wanted) throw modelFailure(`its ${graph} has the SHA-256 ${digest}, not that of ${setting}`);
}

function hubName(name: string): string {
  if (HUB_NAME.test(name)) return name;
  throw modelFailure('there is no such folder');
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
