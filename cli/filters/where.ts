import {
  type FieldOperatorName,
  isItemOperator,
  ITEM_OPERATORS_IN_WORDS,
  type OperandKind,
  OPERATOR_ROWS,
} from '../../shared/contract/filter/filter-operators';

/** A filter as the service takes it. */
export type WhereFilter = Record<string, unknown>;

/** What an expression is not, with the place in it. */
export class WhereError extends Error {}

interface Token {
  kind: 'word' | 'text' | 'sign' | 'end';
  text: string;
  at: number;
}

/** What stands behind a field: an operator, what it is given there, and what it says besides. */
interface Comparison {
  operator: FieldOperatorName;
  takes: OperandKind;
  beside?: WhereFilter;
}

/** By their signs, or by their words in lower case; those of texts that begin with i fold cases. */
const COMPARISONS: ReadonlyMap<string, Comparison> = new Map(
  OPERATOR_ROWS.flatMap(([operator, { takes, where = '', folds }]) =>
    where
      .split(' ')
      .filter((word) => word !== '')
      .flatMap((word): [string, Comparison][] => {
        const plain: [string, Comparison] = [word, { operator, takes }];
        return folds === true ? [plain, [`i${word}`, { operator, takes, beside: { case: 'fold' } }]] : [plain];
      }),
  ),
);
/** What may stand behind a field, for messages: of each operator its first form. */
const COMPARISONS_IN_WORDS = OPERATOR_ROWS.flatMap(([, { takes, where }]) => {
  const [word] = where?.split(' ') ?? [];
  if (word === undefined) return [];
  if (!/[a-z]/.test(word)) return [word];
  return takes === 'flag' || word === 'in' ? [`"${word}"`, `"not ${word}"`] : [`"${word}"`];
}).join(', ');
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
/** A pattern with SQL's sign alone, which would stand for itself. */
const SQL_PATTERN = /^%[^*?]*$|^[^*?]*%$/;
const LITERALS: Record<string, unknown> = { true: true, false: false, null: null };
const TOKEN =
  /\s*(?:(?<sign>==|!=|<>|<=|>=|[=<>(),])|"(?<double>(?:[^"\\]|\\[^])*)"|'(?<single>(?:[^'\\]|\\[^])*)'|`(?<field>[^`]*)`|(?<word>[^\s=<>!(),"'`]+))/y;
/** Deeper brackets than a person writes. */
const DEPTH_MAX = 100;

/**
 * The filter of an expression such as `year >= 2000 and (category = law or not draft = true)`. Fields and texts are
 * words or stand in quotes. Throws a WhereError whose message points at the place.
 */
export function filterOfWhere(expression: string): WhereFilter {
  return new WhereParser(expression).parse();
}

class WhereParser {
  private readonly tokens: Token[];
  private next = 0;
  private depth = 0;

  constructor(private readonly expression: string) {
    this.tokens = this.read();
  }

  parse(): WhereFilter {
    const filter = this.either();
    if (this.token.kind !== 'end') throw this.error('expected "and", "or" or the end');
    return filter;
  }

  private either(): WhereFilter {
    return this.joined('or', '$or', () => this.both());
  }

  private both(): WhereFilter {
    return this.joined('and', '$and', () => this.negated());
  }

  private joined(word: string, operator: string, part: () => WhereFilter): WhereFilter {
    const parts = [part()];
    while (this.takeWord(word)) parts.push(part());
    return parts.length === 1 ? parts[0] : { [operator]: parts };
  }

  private negated(): WhereFilter {
    this.depth += 1;
    if (this.depth > DEPTH_MAX) throw this.error('too deep');
    const filter = this.takeWord('not')
      ? { $not: this.negated() }
      : this.takeSign('(')
        ? this.bracketed()
        : this.comparison();
    this.depth -= 1;
    return filter;
  }

  private bracketed(): WhereFilter {
    const filter = this.either();
    if (!this.takeSign(')')) throw this.error('expected ")"');
    return filter;
  }

  private comparison(): WhereFilter {
    const { kind, text } = this.token;
    if (kind !== 'word' && kind !== 'text') throw this.error('expected a field');
    if (text === '') throw this.error('a field has a name');
    if (text.startsWith('$') && !isItemOperator(text))
      throw this.error(`a field begins with another character than $, but for ${ITEM_OPERATORS_IN_WORDS}`);
    this.next += 1;
    if (text === '$id') return this.ids();
    if (text === '$text') return this.words();
    if (this.takeWord('not')) {
      if (this.takeWord('in')) return { [text]: { $nin: this.list() } };
      const { kind: behind, text: word } = this.token;
      const flag = behind === 'word' ? COMPARISONS.get(word.toLowerCase()) : undefined;
      if (flag?.takes !== 'flag') throw this.error(`expected ${COMPARISONS_IN_WORDS}`);
      this.next += 1;
      return { [text]: { [flag.operator]: false } };
    }
    if (this.takeWord('is')) throw this.error('a field that is not there is "not exists", one that is there "exists"');
    const comparison = this.token.kind === 'text' ? undefined : COMPARISONS.get(this.token.text.toLowerCase());
    if (comparison === undefined) throw this.error(`expected ${COMPARISONS_IN_WORDS}`);
    const { operator, takes, beside } = comparison;
    this.next += 1;
    if (operator === '$like' && SQL_PATTERN.test(this.token.text))
      throw this.error('"like" takes * for any characters and ? for one, where SQL has % and _');
    return { [text]: { [operator]: this.operand(takes), ...beside } };
  }

  /** Errors: WhereError where something else stands. */
  private operand(takes: OperandKind): unknown {
    switch (takes) {
      case 'value':
      case 'bound':
        return this.value();
      case 'values':
        return this.list();
      case 'bounds':
        return this.bounds();
      case 'text':
        return this.text();
      case 'size':
        return this.size();
      case 'flag':
        return true;
      case 'conditions':
        if (!this.takeSign('(')) throw this.error('expected "("');
        return this.bracketed();
      case 'circle':
      case 'box':
      case 'polygon':
        throw this.error('places are for --filter');
    }
  }

  private ids(): WhereFilter {
    if (this.takeWord('in')) return { $id: this.list().map(String) };
    if (this.takeWord('not') && this.takeWord('in')) return { $not: { $id: this.list().map(String) } };
    throw this.error('expected "in" or "not in"');
  }

  private words(): WhereFilter {
    const match = this.takeWord('any') ? 'any' : this.takeWord('all') ? 'all' : null;
    if (match === null) throw this.error('expected "any" or "all", and words');
    return { $text: { query: this.text(), match } };
  }

  /** A number of elements, or what it is compared with. */
  private size(): unknown {
    const { kind, text } = this.token;
    const operator = kind === 'sign' ? COMPARISONS.get(text)?.operator : undefined;
    if (operator === undefined || operator === '$ne') return this.value();
    this.next += 1;
    return { [operator]: this.value() };
  }

  private bounds(): unknown[] {
    const lowest = this.value();
    if (!this.takeWord('and')) throw this.error('expected "and"');
    return [lowest, this.value()];
  }

  private list(): unknown[] {
    if (!this.takeSign('(')) throw this.error('expected "("');
    const values = [this.value()];
    while (this.takeSign(',')) values.push(this.value());
    if (!this.takeSign(')')) throw this.error('expected "," or ")"');
    return values;
  }

  /** A number that stands there is a text, too. */
  private text(): string {
    const { kind, text } = this.token;
    if (kind !== 'word' && kind !== 'text') throw this.error('expected a text');
    this.next += 1;
    return text;
  }

  private value(): unknown {
    const { kind, text } = this.token;
    if (kind !== 'word' && kind !== 'text') throw this.error('expected a value');
    if (
      kind === 'word' &&
      NUMBER.test(text) &&
      (!Number.isFinite(Number(text)) || (Number.isInteger(Number(text)) && !Number.isSafeInteger(Number(text))))
    )
      throw this.error('no number holds that exactly; a text stands in quotes');
    // The end of a statement of SQL, and no part of the value.
    if (kind === 'word' && text.endsWith(';')) throw this.error('a text with ";" stands in quotes');
    this.next += 1;
    if (kind === 'text') return text;
    const literal = text.toLowerCase();
    if (Object.hasOwn(LITERALS, literal)) return LITERALS[literal];
    return NUMBER.test(text) ? Number(text) : text;
  }

  private get token(): Token {
    return this.tokens[this.next];
  }

  private takeWord(word: string): boolean {
    if (this.token.kind !== 'word' || this.token.text.toLowerCase() !== word) return false;
    this.next += 1;
    return true;
  }

  private takeSign(sign: string): boolean {
    if (this.token.kind !== 'sign' || this.token.text !== sign) return false;
    this.next += 1;
    return true;
  }

  private read(): Token[] {
    const { expression } = this;
    const end = expression.trimEnd().length;
    const tokens: Token[] = [];
    for (let at = 0; at < end; at = TOKEN.lastIndex) {
      const start = at + (/^\s*/.exec(expression.slice(at))?.[0].length ?? 0);
      TOKEN.lastIndex = at;
      const groups = TOKEN.exec(expression)?.groups;
      if (groups === undefined)
        throw this.error(
          /["'`]/.test(expression[start])
            ? 'a quote that is never closed'
            : `"${expression[start]}" means nothing here`,
          start,
        );
      const quoted = groups.double ?? groups.single;
      if (groups.sign !== undefined) tokens.push({ kind: 'sign', text: groups.sign, at: start });
      else if (groups.word !== undefined) tokens.push({ kind: 'word', text: groups.word, at: start });
      else
        tokens.push({
          kind: 'text',
          text: quoted === undefined ? groups.field : quoted.replaceAll(/\\([^])/g, '$1'),
          at: start,
        });
    }
    tokens.push({ kind: 'end', text: '', at: end });
    return tokens;
  }

  private error(expected: string, at = this.token.at): WhereError {
    return new WhereError(
      `${expected}, at character ${at + 1}:\n  ${this.expression.replaceAll(/\s/g, ' ')}\n  ${' '.repeat(at)}^`,
    );
  }
}
