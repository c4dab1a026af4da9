import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { seededRandom } from '../values/random';
import { type BertShape, bertModel } from './bert-graph';

const SPECIAL_TOKENS = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];
const WORDS =
  'the a of and to in is was on with cat dog tree river stone red blue fast slow house sun moon rain snow wind fire sea road'.split(
    ' ',
  );
const LETTERS = [...'abcdefghijklmnopqrstuvwxyz0123456789', ...'.,;:!?-'];
const VOCABULARY = [...SPECIAL_TOKENS, ...WORDS, ...LETTERS, ...LETTERS.map((letter) => `##${letter}`)];

export const TINY_SHAPE: BertShape = {
  vocabulary: VOCABULARY.length,
  positions: 64,
  hidden: 32,
  heads: 4,
  layers: 2,
  intermediate: 64,
};

export interface TinyModelOptions {
  shape?: Partial<BertShape>;
  /** A cross-encoder's graph, with so many logits for a pair. */
  labels?: number;
  /** Another seed is another model. */
  seed?: number;
  /** The files under onnx/ to write; `model` is fp32, `model_quantized` int8 with run-time quantization. */
  files?: ('model' | 'model_quantized')[];
  /** More files of the folder, as JSON, by path. */
  more?: Record<string, unknown>;
}

/**
 * Writes a real, tiny BERT with its tokenizer into a folder, laid out as on the hub: a few words and single letters as
 * its vocabulary, random weights, 32 dimensions unless said otherwise.
 */
export function writeTinyModel(folder: string, options: TinyModelOptions = {}): void {
  const shape = { ...TINY_SHAPE, ...options.shape };
  mkdirSync(join(folder, 'onnx'), { recursive: true });
  for (const file of options.files ?? ['model']) {
    const random = seededRandom(options.seed ?? 1);
    writeFileSync(
      join(folder, 'onnx', `${file}.onnx`),
      bertModel(shape, { quantized: file !== 'model', random, labels: options.labels }),
    );
  }
  const files: Record<string, unknown> = {
    'config.json': {
      model_type: 'bert',
      architectures: ['BertModel'],
      hidden_size: shape.hidden,
      num_hidden_layers: shape.layers,
      num_attention_heads: shape.heads,
      intermediate_size: shape.intermediate,
      max_position_embeddings: shape.positions,
      vocab_size: shape.vocabulary,
      type_vocab_size: 2,
      pad_token_id: 0,
    },
    'tokenizer.json': tokenizer(),
    'tokenizer_config.json': {
      tokenizer_class: 'BertTokenizer',
      do_lower_case: true,
      model_max_length: shape.positions,
      unk_token: '[UNK]',
      sep_token: '[SEP]',
      pad_token: '[PAD]',
      cls_token: '[CLS]',
      mask_token: '[MASK]',
    },
    ...options.more,
  };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), JSON.stringify(content));
  }
}

function tokenizer(): unknown {
  const special = SPECIAL_TOKENS.map((content, id) => ({
    id,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  }));
  const end = (id: string): unknown => ({ SpecialToken: { id, type_id: 0 } });
  const text = (id: string, type: number): unknown => ({ Sequence: { id, type_id: type } });
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: special,
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: null,
      lowercase: true,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [end('[CLS]'), text('A', 0), end('[SEP]')],
      pair: [end('[CLS]'), text('A', 0), end('[SEP]'), text('B', 1), { SpecialToken: { id: '[SEP]', type_id: 1 } }],
      special_tokens: Object.fromEntries(
        ['[CLS]', '[SEP]'].map((token) => [
          token,
          { id: token, ids: [SPECIAL_TOKENS.indexOf(token)], tokens: [token] },
        ]),
      ),
    },
    decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: '##',
      max_input_chars_per_word: 100,
      vocab: Object.fromEntries(VOCABULARY.map((token, id) => [token, id])),
    },
  };
}
