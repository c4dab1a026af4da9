import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { ModelDescription } from './model-description';
import { modelFailure } from './model-failure';

export type Transformers = typeof import('@huggingface/transformers', { with: { 'resolution-mode': 'import' } });
export type Tensor = InstanceType<Transformers['Tensor']>;
export type Tokenizer = Awaited<ReturnType<Transformers['AutoTokenizer']['from_pretrained']>>;
type Graph = Awaited<ReturnType<Transformers['AutoModel']['from_pretrained']>>;

/** What npm installs for models: the version of package.json. */
const TRANSFORMERS_PACKAGE = '@huggingface/transformers@4.3.1';

/** One native thread per worker. Errors are thrown, so they need no line on the console. */
const SESSION_OPTIONS = {
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
  executionMode: 'sequential',
  logSeverityLevel: 4,
} as const;

/** Token ids of texts that run together, row by row. Rows shorter than the longest are padded. */
export interface TokenRows {
  rows: readonly (readonly number[])[];
  /** Which of the two texts of a pair each token is of: 0 or 1; absent: all are of the first. */
  types?: readonly (readonly number[])[];
}

/** What a graph answered, by the names of its outputs, and what it was given. */
export interface GraphAnswer {
  outputs: Record<string, Tensor | undefined>;
  mask: BigInt64Array;
  /** Texts, and tokens of each. */
  dims: [number, number];
}

/** A tokenizer and a graph of one model, on the CPU. */
export class LoadedModel {
  private constructor(
    private readonly transformers: Transformers,
    readonly tokenizer: Tokenizer,
    private readonly graph: Graph,
  ) {}

  /**
   * Loads both from the model's folder, never from the network. Errors: embedding_unavailable, naming what is broken.
   */
  static async open({ folder, variant }: Pick<ModelDescription, 'folder' | 'variant'>): Promise<LoadedModel> {
    const transformers = await loadTransformers();
    transformers.env.allowRemoteModels = false;
    transformers.env.useFSCache = false;
    transformers.env.logLevel = transformers.LogLevel.ERROR;
    const tokenizer = await attempt("its tokenizer can't be used", () =>
      transformers.AutoTokenizer.from_pretrained(folder, { local_files_only: true }),
    );
    const graph = await attempt(`its ${variant} graph can't be loaded`, () =>
      transformers.AutoModel.from_pretrained(folder, {
        local_files_only: true,
        device: 'cpu',
        dtype: variant,
        session_options: SESSION_OPTIONS,
      }),
    );
    return new LoadedModel(transformers, tokenizer, graph);
  }

  /** Runs the rows in one batch. */
  async run({ rows, types }: TokenRows): Promise<GraphAnswer> {
    const tokens = Math.max(...rows.map((row) => row.length));
    const { Tensor } = this.transformers;
    const ids = new BigInt64Array(rows.length * tokens).fill(BigInt(this.tokenizer.pad_token_id ?? 0));
    const mask = new BigInt64Array(rows.length * tokens);
    const kinds = new BigInt64Array(rows.length * tokens);
    rows.forEach((row, i) => {
      row.forEach((token, place) => (ids[i * tokens + place] = BigInt(token)));
      mask.fill(1n, i * tokens, i * tokens + row.length);
      types?.[i].forEach((type, place) => (kinds[i * tokens + place] = BigInt(type)));
    });
    const dims: [number, number] = [rows.length, tokens];
    const outputs = (await this.graph({
      input_ids: new Tensor('int64', ids, dims),
      attention_mask: new Tensor('int64', mask, dims),
      token_type_ids: new Tensor('int64', kinds, dims),
    })) as Record<string, Tensor | undefined>;
    return { outputs, mask, dims };
  }
}

/** What npm's package of Quiver leaves out. Errors: embedding_unavailable, saying how to get it. */
async function loadTransformers(): Promise<Transformers> {
  try {
    return await import('@huggingface/transformers');
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw modelFailure(`it needs a package that is not installed: run npm install ${TRANSFORMERS_PACKAGE}`, error);
  }
}

/** Errors: those of `work` that are QuiverErrors; else embedding_unavailable with `failure`. */
export async function attempt<Result>(failure: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (isQuiverError(error)) throw error;
    throw modelFailure(failure, error);
  }
}
