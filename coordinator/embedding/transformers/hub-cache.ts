import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../../../shared/logs/logger';
import type { HubFile, HubFiles } from './hub-download';
import { modelFailure } from './model-failure';
import { variantPath, wantedVariants } from './model-variant';

/** What a model may have besides; what it lacks is skipped. */
const OPTIONAL_FILES = [
  'tokenizer_config.json', 'special_tokens_map.json', 'modules.json', '1_Pooling/config.json', 'sentence_bert_config.json', 'config_sentence_transformers.json',
];
/** Written last: a folder that has it has the rest. */
const CONFIG = 'config.json';

/**
 * Models of the hub in a folder, each in `<folder>/<owner>/<name>` as @huggingface/transformers keeps them too. A model
 * that is there is never asked for again.
 */
export class HubCache {
  constructor(private readonly options: { folder: string; isOffline: boolean; hub: HubFiles; log: Pick<Logger, 'info'> }) {}

  /** The model's folder with all that is needed in it. Errors: embedding_unavailable with the reason. */
  async folderOf(name: string, dtype: string): Promise<string> {
    const folder = join(this.options.folder, ...name.split('/'));
    if (this.isComplete(folder, dtype)) return folder;
    if (this.options.isOffline) throw modelFailure('it is not in EMBEDDING_CACHE_DIR, and EMBEDDING_OFFLINE forbids to fetch it');
    this.options.log.info({ model: name }, 'fetching the embedding model');
    await this.fetch(name, folder, dtype);
    this.options.log.info({ model: name }, 'fetched the embedding model');
    return folder;
  }

  private isComplete(folder: string, dtype: string): boolean {
    const hasFile = (path: string): boolean => existsSync(join(folder, path));
    return hasFile(CONFIG) && hasFile('tokenizer.json') && wantedVariants(dtype).some((variant) => hasFile(variantPath(variant)));
  }

  private async fetch(name: string, folder: string, dtype: string): Promise<void> {
    const { hub } = this.options;
    const config = await hub.open(name, CONFIG);
    if (config === null) throw modelFailure(`the hub has no ${CONFIG} of it`);
    const content = await config.bytes();
    for (const path of OPTIONAL_FILES) await (await hub.open(name, path))?.save(join(folder, path));
    const tokenizer = await hub.open(name, 'tokenizer.json');
    if (tokenizer === null) throw modelFailure('the hub has no tokenizer.json of it');
    await tokenizer.save(join(folder, 'tokenizer.json'));
    await this.fetchGraph(name, folder, dtype, content);
    await hub.write(join(folder, CONFIG), content);
  }

  /** The first variant that there is; the weights beside it come before it. */
  private async fetchGraph(name: string, folder: string, dtype: string, config: Buffer): Promise<void> {
    const { hub } = this.options;
    for (const variant of wantedVariants(dtype)) {
      const path = variantPath(variant);
      const graph: HubFile | null = await hub.open(name, path);
      if (graph === null) continue;
      const parts = externalParts(config, path.slice('onnx/'.length));
      if (parts > 0) graph.cancel();
      for (let part = 0; part < parts; part++) {
        const partPath = `${path}_data${part === 0 ? '' : `_${part}`}`;
        const weights = await hub.open(name, partPath);
        if (weights === null) throw modelFailure(`the hub has no ${partPath} of it`);
        await weights.save(join(folder, partPath));
      }
      const again = parts > 0 ? await hub.open(name, path) : graph;
      await again?.save(join(folder, path));
      return;
    }
    throw modelFailure(`the hub has no ONNX graph of it for EMBEDDING_DTYPE=${dtype}`);
  }
}

/** Files of weights beside the graph, as config.json's transformers.js_config.use_external_data_format has it. */
function externalParts(config: Buffer, file: string): number {
  let settings: unknown;
  try {
    settings = (JSON.parse(config.toString('utf8')) as Record<string, Record<string, unknown> | undefined>)['transformers.js_config']?.use_external_data_format;
  } catch (error) {
    throw modelFailure('the config.json that the hub has of it is not valid JSON', error);
  }
  const format = typeof settings === 'object' && settings !== null ? ((settings as Record<string, unknown>)[file] ?? (settings as Record<string, unknown>).model) : settings;
  return Math.max(0, Number(format ?? 0)) || 0;
}
