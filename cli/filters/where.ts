/** A filter as the service takes it. */
export type WhereFilter = Record<string, unknown>;

/** What an expression is not, with the place in it. */
export class WhereError extends Error {}

interface Token {
  kind: 'word' | 'text' | 'sign' | 'end';
  text: string;
  at: number;
}

const OPERATORS: Record<string, string> = {
  '=': '$eq',
  '==': '$eq',
  '!=': '$ne',
  '<>': '$ne',
  '<': '$lt',
  '<=': '$lte',
  '>': '$gt',
  '>=': '$gte',
};
/** Words for what is searched in texts; those that begin with i fold cases. */
const TEXT_OPERATORS: Record<string, WhereFilter> = {
  prefix: {},
  contains: {},
  like: {},
  iprefix: { case: 'fold' },
  icontains: { case: 'fold' },
  ilike: { case: 'fold' },
};
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
/** A pattern with SQL's sign alone, which would stand for itself. */
const SQL_PATTERN = /^%[^*?]*$|^[^*?]*%$/;
const LITERALS: Record<string, unknown> = { true: true, false: false, null: null };
const TOKEN =
  /\s*(?:(?<sign>==|!=|<>|<=|>=|[=<>(),])|"(?<double>(?:[^"\\]|\\[^])*)"|'(?<single>(?:[^'\\]|\\[^])*)'|`(?<field>[^`]*)`|(?<word>[^\s=<>!(),"'`]+))/y;
/** What is asked of the item itself. */
const ITEM_FIELDS: ReadonlySet<string> = new Set(['$id', '$expires_at', '$updated', '$text']);
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
    if (text.startsWith('$') && !ITEM_FIELDS.has(text))
      throw this.error('a field begins with another character than $, but for $id, $expires_at, $updated and $text');
    this.next += 1;
    if (text === '$id') return this.ids();
    if (text === '$text') return this.words();
    const operator =
      this.token.kind === 'sign' && Object.hasOwn(OPERATORS, this.token.text) ? OPERATORS[this.token.text] : null;
    if (operator !== null) {
      this.next += 1;
      return { [text]: { [operator]: this.value() } };
    }
    if (this.takeWord('exists')) return { [text]: { $exists: true } };
    if (this.takeWord('in')) return { [text]: { $in: this.list() } };
    if (this.takeWord('between')) return { [text]: { $between: this.bounds() } };
    if (this.takeWord('all')) return { [text]: { $all: this.list() } };
    if (this.takeWord('any')) return { [text]: { $any: this.list() } };
    if (this.takeWord('size')) return { [text]: { $size: this.size() } };
    if (this.takeWord('has')) {
      if (!this.takeSign('(')) throw this.error('expected "("');
      return { [text]: { $elem_match: this.bracketed() } };
    }
    const word = this.token.text.toLowerCase();
    if (this.token.kind === 'word' && Object.hasOwn(TEXT_OPERATORS, word)) {
      this.next += 1;
      if (word.endsWith('like') && SQL_PATTERN.test(this.token.text))
        throw this.error('"like" takes * for any characters and ? for one, where SQL has % and _');
      return { [text]: { [`$${word.replace(/^i/, '')}`]: this.text(), ...TEXT_OPERATORS[word] } };
    }
    if (this.takeWord('not')) {
      if (this.takeWord('exists')) return { [text]: { $exists: false } };
      if (this.takeWord('in')) return { [text]: { $nin: this.list() } };
    }
    if (this.takeWord('is')) throw this.error('a field that is not there is "not exists", one that is there "exists"');
    throw this.error(
      'expected =, !=, <, <=, >, >=, "in", "not in", "exists", "not exists", "between", "prefix", "contains", "like", "all", "any", "size" or "has"',
    );
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
    const operator = this.token.kind === 'sign' ? OPERATORS[this.token.text] : undefined;
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
