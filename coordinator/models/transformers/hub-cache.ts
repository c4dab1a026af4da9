import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../../shared/base/logs/logger';
import type { HubFile, HubFiles } from './hub-download';
import { modelFailure } from './model-failure';
import { checkLock, factsOf, type FileFacts, LOCK_FILE, lockToText, type ModelLock, readLock } from './model-lock';
import type { ModelPin } from './model-pin';
import { variantPath, wantedVariants } from './model-variant';

/** Files that a model may have in addition; missing ones are skipped. */
const OPTIONAL_FILES = [
  'tokenizer_config.json',
  'special_tokens_map.json',
  'modules.json',
  '1_Pooling/config.json',
  'sentence_bert_config.json',
  'config_sentence_transformers.json',
];
/** Written last: a folder that has it is complete. */
const CONFIG = 'config.json';

/**
 * Models of the hub in a folder, each in `<folder>/<owner>/<name>`, the same layout as that of
 * @huggingface/transformers. A model that is there is never downloaded again. Each time it is opened, its files must
 * match the lock beside them, which records what they were at first. A folder that somebody else filled has no lock,
 * and gets one now.
 */
export class HubCache {
  constructor(
    private readonly options: {
      folder: string;
      isOffline: boolean;
      hub: HubFiles;
      log: Pick<Logger, 'info' | 'warn'>;
      pinOf: (name: string) => ModelPin;
    },
  ) {}

  /** The model's folder with all files that are needed. Errors: embedding_unavailable with the reason. */
  async folderOf(name: string, dtype: string): Promise<string> {
    const folder = join(this.options.folder, ...name.split('/'));
    const pin = this.options.pinOf(name);
    const lock = await readLock(folder);
    const isWanted = !pin.isExplicit || (lock !== null && [lock.revision, lock.commit].includes(pin.revision));
    if (isWanted && this.isComplete(folder, dtype)) {
      if (lock === null) await this.adopt(name, folder, pin);
      else await checkLock(folder, lock).catch((error: unknown) => throwRemovable(error));
      return folder;
    }
    if (this.options.isOffline) {
      const reason = isWanted
        ? 'it is not in EMBEDDING_CACHE_DIR'
        : `the copy in EMBEDDING_CACHE_DIR is not known to be of EMBEDDING_REVISION ${pin.revision}`;
      throw modelFailure(`${reason}, and EMBEDDING_OFFLINE forbids to fetch it`);
    }
    // Another format of a model that is there is taken from the same revision as the other files.
    const kept = isWanted ? lock : null;
    const revision = kept?.commit ?? kept?.revision ?? pin.revision;
    this.options.log.info({ model: name, revision }, 'fetching the embedding model');
    const fetched = await this.fetch(
      name,
      folder,
      dtype,
      { ...pin, revision, sha256: revision === pin.revision ? pin.sha256 : {} },
      kept,
    );
    this.options.log.info(
      {
        model: name,
        revision,
        commit: fetched.commit,
        sha256: Object.fromEntries(Object.entries(fetched.files).map(([path, { sha256 }]) => [path, sha256])),
      },
      'fetched the embedding model',
    );
    return folder;
  }

  private isComplete(folder: string, dtype: string): boolean {
    const hasFile = (path: string): boolean => existsSync(join(folder, path));
    return (
      hasFile(CONFIG) &&
      hasFile('tokenizer.json') &&
      wantedVariants(dtype).some((variant) => hasFile(variantPath(variant)))
    );
  }

  /** Trusts a folder that is seen for the first time, and records what it holds. */
  private async adopt(name: string, folder: string, pin: ModelPin): Promise<void> {
    const { log, hub } = this.options;
    const graphs = (await readdir(join(folder, 'onnx')).catch(() => [])).map((file) => `onnx/${file}`);
    const files = await factsOf(folder, [CONFIG, 'tokenizer.json', ...OPTIONAL_FILES, ...graphs.sort()]);
    const differing = Object.keys(pin.sha256).filter(
      (path) => files[path] !== undefined && files[path].sha256 !== pin.sha256[path],
    );
    if (differing.length > 0)
      log.warn(
        { model: name, files: differing, revision: pin.revision },
        'the copy of the embedding model in EMBEDDING_CACHE_DIR is of another revision than the one known to this version; it is used as it is',
      );
    await hub
      .write(join(folder, LOCK_FILE), Buffer.from(lockToText({ revision: null, commit: null, files })))
      .catch((error: unknown) => {
        log.warn(
          { model: name, error },
          'EMBEDDING_CACHE_DIR takes no writes: what the embedding model is cannot be recorded, nor compared later',
        );
      });
  }

  /** `kept`: the files of the same revision that are there, and stay. */
  private async fetch(
    name: string,
    folder: string,
    dtype: string,
    pin: ModelPin,
    kept: ModelLock | null,
  ): Promise<ModelLock> {
    const { hub } = this.options;
    const config = await hub.open(name, CONFIG, pin.revision);
    if (config === null)
      throw modelFailure(
        `the hub has no ${CONFIG} of it${pin.revision === 'main' ? '' : ` at the revision ${pin.revision}`}`,
      );
    const content = await config.bytes(pin.sha256[CONFIG]);
    // The branch may move between two downloads, so the commit of the first file decides.
    const revision = config.commit ?? pin.revision;
    const files: Record<string, FileFacts> = { ...kept?.files };
    const save = async (path: string, file: HubFile): Promise<void> =>
      void (files[path] = await file.save(join(folder, path), pin.sha256[path]));
    if (kept === null) {
      // From here on the folder counts as incomplete, until all new files are there.
      for (const file of [CONFIG, LOCK_FILE])
        await rm(join(folder, file), { force: true }).catch((error: unknown) => throwUnwritable(error));
    }
    for (const path of OPTIONAL_FILES) {
      const file = await hub.open(name, path, revision);
      if (file !== null) await save(path, file);
    }
    const tokenizer = await hub.open(name, 'tokenizer.json', revision);
    if (tokenizer === null) throw modelFailure('the hub has no tokenizer.json of it');
    await save('tokenizer.json', tokenizer);
    await this.fetchGraph(dtype, { config: content, open: (path) => hub.open(name, path, revision), save });
    files[CONFIG] = { bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') };
    const lock = { revision: kept?.revision ?? pin.revision, commit: config.commit, files };
    await hub.write(join(folder, LOCK_FILE), Buffer.from(lockToText(lock)));
    await hub.write(join(folder, CONFIG), content);
    return lock;
  }

  /** Fetches the first variant that exists. Its weights are fetched before the graph. */
  private async fetchGraph(
    dtype: string,
    from: {
      config: Buffer;
      open: (path: string) => Promise<HubFile | null>;
      save: (path: string, file: HubFile) => Promise<void>;
    },
  ): Promise<void> {
    for (const variant of wantedVariants(dtype)) {
      const path = variantPath(variant);
      const graph = await from.open(path);
      if (graph === null) continue;
      const parts = externalParts(from.config, path.slice('onnx/'.length));
      if (parts > 0) graph.cancel();
      for (let part = 0; part < parts; part++) {
        const partPath = `${path}_data${part === 0 ? '' : `_${part}`}`;
        const weights = await from.open(partPath);
        if (weights === null) throw modelFailure(`the hub has no ${partPath} of it`);
        await from.save(partPath, weights);
      }
      const again = parts > 0 ? await from.open(path) : graph;
      if (again !== null) await from.save(path, again);
      return;
    }
    throw modelFailure(`the hub has no ONNX graph of it for EMBEDDING_DTYPE=${dtype}`);
  }
}

/** A file was changed after it was fetched; only the operator can know why. */
function throwRemovable(error: unknown): never {
  throw modelFailure(`${(error as Error).message}; remove it from EMBEDDING_CACHE_DIR to have it fetched again`, error);
}

function throwUnwritable(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOTDIR')
    throw modelFailure("it can't be written to EMBEDDING_CACHE_DIR", error);
}

/** Files of weights beside the graph, according to config.json's transformers.js_config.use_external_data_format. */
function externalParts(config: Buffer, file: string): number {
  let settings: unknown;
  try {
    settings = (JSON.parse(config.toString('utf8')) as Record<string, Record<string, unknown> | undefined>)[
      'transformers.js_config'
    ]?.use_external_data_format;
  } catch (error) {
    throw modelFailure('the config.json that the hub has of it is not valid JSON', error);
  }
  const format =
    typeof settings === 'object' && settings !== null
      ? ((settings as Record<string, unknown>)[file] ?? (settings as Record<string, unknown>).model)
      : settings;
  return Math.max(0, Number(format ?? 0)) || 0;
}
