import { defaultAnalyser } from '../../../shared/base/text/analyser';
import type { KeywordClause } from '../../service/keyword-query';

/** More than a person writes. Each takes a list of its own. */
export const CLAUSES_MAX = 64;

const SPACE = /\s/;
/** Behind a word: what it stands for. */
const STANDS = /^(.*[^\\])(\*|~[012]?)$/su;
/** A path of the metadata with its colon; what follows is neither white space nor the rest of an address. */
const PATH = /^([\p{L}_][\p{L}\p{N}_.-]{0,254}):(?!\/\/)(?=\S)/u;

/**
 * The clauses of a query in the simple syntax, in their order: words between white space, `+` before what must be
 * there, `-` before what must not, `title:` before what is looked for in a field of the metadata. A backslash takes the
 * meaning from the sign behind it. `word*` stands for what begins so, `word~`, `word~1` and `word~2` for what is near
 * to it. What has no word is left out.
 */
export function simpleClauses(query: string): KeywordClause[] {
  const clauses: KeywordClause[] = [];
  for (let at = 0; at < query.length;) {
    if (SPACE.test(query[at])) {
      at += 1;
      continue;
    }
    const start = at;
    while (at < query.length && !SPACE.test(query[at])) at += query[at] === '\\' && at + 1 < query.length ? 2 : 1;
    const clause = clauseOf(query.slice(start, at), start);
    if (clause !== null) clauses.push(clause);
  }
  return clauses;
}

function clauseOf(written: string, start: number): KeywordClause | null {
  const sign = written[0];
  const occurs = sign === '+' ? 'must' : sign === '-' ? 'not' : 'may';
  let rest = occurs === 'may' ? written : written.slice(1);
  const path = PATH.exec(rest)?.[1];
  if (path !== undefined) rest = rest.slice(path.length + 1);
  const [, word = rest, stands] = STANDS.exec(rest) ?? [];
  const text = word.replaceAll(/\\(.)/gsu, '$1');
  if (defaultAnalyser.terms(text).length === 0) return null;
  return {
    occurs,
    text,
    ...(path !== undefined && { path }),
    ...(stands !== undefined && { stands: standsFor(stands) }),
    start,
    end: start + written.length,
  };
}

function standsFor(sign: string): KeywordClause['stands'] {
  if (sign === '*') return 'prefix';
  return sign === '~' ? 'auto' : (Number(sign[1]) as 0 | 1 | 2);
}
