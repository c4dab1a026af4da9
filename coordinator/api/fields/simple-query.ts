import { defaultAnalyser } from '../../../shared/base/text/analyser';
import type { KeywordClause } from '../../service/keyword-query';

/** More than a person writes. Each takes a list of its own. */
export const CLAUSES_MAX = 64;

const SPACE = /\s/;
/** Behind a word: what it stands for. */
const STANDS = /^(.*[^\\])(\*|~[012]?)$/su;
/** A path of the metadata with its colon; what follows is neither white space nor the rest of an address. */
const PATH = /([\p{L}_][\p{L}\p{N}_.-]{0,254}):(?!\/\/)(?=\S)/uy;
/** Behind a phrase: how many words may stand between its own. */
const NEAR = /~(\d+)/y;
/** More is as good as this. */
const NEAR_MAX = 1_000_000;

/** What a clause has besides its text. */
type Head = Pick<KeywordClause, 'occurs' | 'path' | 'start'>;

/**
 * The clauses of a query in the simple syntax, in their order: words between white space, and phrases in quotes; `+`
 * before what must be there, `-` before what must not, `title:` before what is looked for in a field of the metadata. A
 * backslash takes the meaning from the sign behind it. `word*` stands for what begins so, `word~`, `word~1` and
 * `word~2` for what is near to it; the words of `"a phrase"~3` may have so many others between them. What has no word
 * is left out. A number: the place of a quote that no other ends.
 */
export function simpleClauses(query: string): KeywordClause[] | number {
  const clauses: KeywordClause[] = [];
  for (let at = 0; at < query.length;) {
    if (SPACE.test(query[at])) {
      at += 1;
      continue;
    }
    const start = at;
    const occurs = query[at] === '+' ? 'must' : query[at] === '-' ? 'not' : 'may';
    if (occurs !== 'may') at += 1;
    const path = matchAt(PATH, query, at)?.[1];
    if (path !== undefined) at += path.length + 1;
    const head: Head = { occurs, ...(path !== undefined && { path }), start };
    const isPhrase = query[at] === '"';
    const end = isPhrase ? endOfPhrase(query, at + 1) : endOfWord(query, at);
    if (end < 0) return at;
    const near = isPhrase ? matchAt(NEAR, query, end + 1) : null;
    const whole = isPhrase ? end + 1 + (near?.[0].length ?? 0) : end;
    const clause = isPhrase
      ? phrase(query.slice(at + 1, end), Math.min(Number(near?.[1] ?? 0), NEAR_MAX), head, whole)
      : word(query.slice(at, end), head, whole);
    if (clause !== null) clauses.push(clause);
    at = whole;
  }
  return clauses;
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function endOfWord(query: string, from: number): number {
  let at = from;
  while (at < query.length && !SPACE.test(query[at])) at += query[at] === '\\' && at + 1 < query.length ? 2 : 1;
  return at;
}

/** The place of the quote; −1: there is none. */
function endOfPhrase(query: string, from: number): number {
  for (let at = from; at < query.length; at += query[at] === '\\' ? 2 : 1) if (query[at] === '"') return at;
  return -1;
}

function word(written: string, head: Head, end: number): KeywordClause | null {
  const [, own = written, sign] = STANDS.exec(written) ?? [];
  const text = withoutBackslashes(own);
  if (defaultAnalyser.terms(text).length === 0) return null;
  return { ...head, text, ...(sign !== undefined && { stands: standsFor(sign) }), end };
}

/** One word is no phrase. */
function phrase(written: string, near: number, head: Head, end: number): KeywordClause | null {
  const text = withoutBackslashes(written);
  const { length } = defaultAnalyser.terms(text);
  return length === 0 ? null : { ...head, text, ...(length > 1 && { near }), end };
}

function withoutBackslashes(text: string): string {
  return text.replaceAll(/\\(.)/gsu, '$1');
}

function standsFor(sign: string): KeywordClause['stands'] {
  if (sign === '*') return 'prefix';
  return sign === '~' ? 'auto' : (Number(sign[1]) as 0 | 1 | 2);
}
