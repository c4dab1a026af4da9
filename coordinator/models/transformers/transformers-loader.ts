import { readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import type { Clock } from '../../../shared/base/time/clock';
import { EMBEDDED_CHARACTERS_MAX } from '../builtin-model';
import type { EmbeddingKind, EmbeddingModel, EmbedOptions, TextLengths } from '../embedding-provider';
import type { EmbeddingModelLoader } from '../embedding-registry';
import { EmbeddingDispatcher } from './embedding-dispatcher';
import { EmbeddingThread } from './embedding-thread';
import { HubCache } from './hub-cache';
import { HubDownload } from './hub-download';
import { describeModel, type ModelDescription } from './model-description';
import { modelFailure } from './model-failure';
import { digestOfFiles } from './model-lock';
import { pinOf } from './model-pin';
import { variantPath } from './model-variant';
import type { Prompts } from './prompts';

export interface TransformersOptions {
  /** A name of model-variant.ts, or `auto`. */
  dtype: string;
  /** The folder for models of the hub. */
  cacheDir: string;
  isOffline: boolean;
  /** For example https://huggingface.co. */
  hub: string;
  /** The revision on the hub and the SHA-256 of the graph that an operator has fixed for one model; '' if not set. */
  pin?: { model: string; revision: string; sha256: string };
  /** Number of worker threads, each with a copy of the model and one native thread. */
  threads: number;
  /** Longest time of a call. */
  timeoutMs: number;
  clock: Clock;
  log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Aborted when the process is asked to end: downloads are given up. */
  stopSignal?: AbortSignal;
  /** The worker's file, if it is not the compiled one. */
  workerFile?: string;
}

/** `owner/name` or `name`, as on the hub. */
const HUB_NAME = /^[A-Za-z0-9][\w.-]*(?:\/[A-Za-z0-9][\w.-]*)?$/;

/**
 * Opens transformers models: a local folder if there is one of that name, otherwise a model of the hub. The first
 * worker shows whether the model works at all; the others start after it.
 */
export function transformersLoader(options: TransformersOptions): EmbeddingModelLoader {
  const { clock, log } = options;
  const hub = new HubDownload({ hub: options.hub, clock, log, stopSignal: options.stopSignal });
  const cache = new HubCache({
    folder: options.cacheDir,
    isOffline: options.isOffline,
    hub,
    log,
    pinOf: (name) => pinOf(name, name === options.pin?.model ? options.pin.revision : ''),
  });
  return async (name) => {
    const startedMs = clock.monotonicMs();
    const isLocal = isFolder(resolve(name));
    const folder = isLocal ? resolve(name) : await cache.folderOf(hubName(name), options.dtype);
    const description = await describeModel({ name, folder, dtype: options.dtype }).catch((error: unknown) =>
      refuse(error, isLocal),
    );
    if (name === options.pin?.model && options.pin.sha256 !== '') await checkGraph(description, options.pin.sha256);
    const start = (): Promise<EmbeddingThread> => EmbeddingThread.start(description, options.workerFile);
    const first = await start().catch((error: unknown) => refuse(error, isLocal));
    const others = await Promise.allSettled(Array.from({ length: options.threads - 1 }, start));
    const runners = [first, ...others.flatMap((other) => (other.status === 'fulfilled' ? [other.value] : []))];
    for (const other of others)
      if (other.status === 'rejected')
        log.warn({ model: name, error: other.reason as unknown }, 'an embedding worker could not be started');
    const dispatcher = new EmbeddingDispatcher({ runners, restart: start, timeoutMs: options.timeoutMs, log });
    const facts = {
      model: name,
      dim: first.dim,
      dtype: description.variant,
      tokensMax: description.tokensMax,
      pooling: description.pooling,
      batches: first.isInvariant,
      threads: runners.length,
    };
    log.info({ ...facts, tookMs: Math.round(clock.monotonicMs() - startedMs) }, 'embedding model ready');
    return new TransformersModel({
      name,
      dim: first.dim,
      tokensMax: description.tokensMax,
      prompts: description.prompts,
      dispatcher,
    });
  };
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
async function checkGraph({ folder, variant }: ModelDescription, wanted: string): Promise<void> {
  const graph = variantPath(variant);
  const parts = readdirSync(join(folder, 'onnx'))
    .map((file) => `onnx/${file}`)
    .filter((path) => path.startsWith(`${graph}_data`));
  const digest = await digestOfFiles(folder, [graph, ...parts.sort()]);
  if (digest !== wanted) throw modelFailure(`its ${graph} has the SHA-256 ${digest}, not that of EMBEDDING_SHA256`);
}

function hubName(name: string): string {
  if (HUB_NAME.test(name)) return name;
  throw modelFailure('there is no such folder');
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** A transformers model: puts the prefixes of its training before texts, and embeds them in worker threads. */
class TransformersModel implements EmbeddingModel {
  readonly name: string;
  readonly dim: number;
  private readonly tokensMax: number;
  private readonly prompts: Prompts;
  private readonly dispatcher: Pick<EmbeddingDispatcher, 'embed' | 'measure' | 'close'>;

  constructor(options: {
    name: string;
    dim: number;
    tokensMax: number;
    prompts: Prompts;
    dispatcher: Pick<EmbeddingDispatcher, 'embed' | 'measure' | 'close'>;
  }) {
    this.name = options.name;
    this.dim = options.dim;
    this.tokensMax = options.tokensMax;
    this.prompts = options.prompts;
    this.dispatcher = options.dispatcher;
  }

  /** Lone surrogates become U+FFFD. Text beyond what the model reads is not sent to it. */
  embed(texts: string[], { kind, onCut }: Pick<EmbedOptions, 'kind' | 'onCut'>): Promise<Float32Array[]> {
    const sent = texts.map((text) => this.sentOf(text, kind));
    return this.dispatcher.embed(sent, kind, (index, left) =>
      onCut?.({
        index,
        read: this.tokensMax,
        left,
        unit: 'tokens',
        isMore: texts[index].length > EMBEDDED_CHARACTERS_MAX,
      }),
    );
  }

  async measure(texts: string[]): Promise<TextLengths> {
    return {
      lengths: await this.dispatcher.measure(texts.map((text) => this.sentOf(text, 'passage'))),
      most: this.tokensMax,
    };
  }

  private sentOf(text: string, kind: EmbeddingKind): string {
    return this.prompts[kind] + text.slice(0, EMBEDDED_CHARACTERS_MAX).toWellFormed();
  }

  close(): Promise<void> {
    return this.dispatcher.close();
  }
}
