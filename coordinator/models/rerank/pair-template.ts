import type { Tokenizer } from '../transformers/loaded-model';
import { modelFailure } from '../transformers/model-failure';

/** Tokens of a pair, and of which of its texts each is. */
export interface PairTokens {
  tokens: number[];
  types: number[];
}

/** Tokens in a row, all of the same text. */
interface Piece {
  tokens: readonly number[];
  types: readonly number[];
}

/** Of a query that is as long as what the model reads, so much at most is kept: the rest is for the text. */
const QUERY_PART = 0.5;

/**
 * How a tokenizer puts two texts together: special tokens before the first, between them and behind the second. Learnt
 * from a pair of one word each, so that long texts can be cut between these and are tokenized once.
 */
export class PairTemplate {
  private constructor(
    private readonly tokenizer: Tokenizer,
    private readonly parts: { before: Piece; between: Piece; behind: Piece; types: [query: number, text: number] },
    private readonly tokensMax: number,
  ) {}

  /** Errors: embedding_unavailable when the tokenizer does not keep the texts of a pair apart. */
  static of(tokenizer: Tokenizer, tokensMax: number): PairTemplate {
    const [query, text] = ['a', 'b'].map((word) => tokenizer.encode(word, { add_special_tokens: false }));
    const { input_ids: ids, token_type_ids: given } = tokenizer('a', {
      text_pair: 'b',
      return_tensor: false,
      return_token_type_ids: true,
    }) as { input_ids: number[]; token_type_ids?: number[] };
    const types = given ?? ids.map(() => 0);
    const first = placeOf(ids, query, 0);
    const second = first < 0 ? -1 : placeOf(ids, text, first + query.length);
    if (second < 0) throw modelFailure('its tokenizer makes no pairs of texts');
    const piece = (from: number, to: number): Piece => ({ tokens: ids.slice(from, to), types: types.slice(from, to) });
    const parts = {
      before: piece(0, first),
      between: piece(first + query.length, second),
      behind: piece(second + text.length, ids.length),
      types: [types[first], types[second]] as [number, number],
    };
    const specials = ids.length - query.length - text.length;
    if (tokensMax < specials + 2) throw modelFailure(`it reads ${tokensMax} tokens, too few for a pair`);
    return new PairTemplate(tokenizer, parts, tokensMax - specials);
  }

  /** Tokens of a query, as many as are read of it. */
  query(text: string): number[] {
    const tokens = this.tokenizer.encode(text, { add_special_tokens: false });
    return tokens.slice(0, Math.max(1, Math.floor(this.tokensMax * QUERY_PART)));
  }

  /** The pair, with as much of the text as the model reads. */
  pair(query: readonly number[], text: string): PairTokens {
    const { before, between, behind, types } = this.parts;
    const read = this.tokenizer
      .encode(text, { add_special_tokens: false })
      .slice(0, Math.max(0, this.tokensMax - query.length));
    const [ofQuery, ofText] = types;
    return {
      tokens: [...before.tokens, ...query, ...between.tokens, ...read, ...behind.tokens],
      types: [
        ...before.types,
        ...query.map(() => ofQuery),
        ...between.types,
        ...read.map(() => ofText),
        ...behind.types,
      ],
    };
  }
}

/** Where a list begins in another, from a place on; −1: nowhere. */
function placeOf(list: readonly number[], part: readonly number[], from: number): number {
  if (part.length === 0) return -1;
  for (let at = from; at + part.length <= list.length; at++)
    if (part.every((token, i) => list[at + i] === token)) return at;
  return -1;
}
