import { isBlankUnit } from '../documents/blank';
import { sentenceStarts } from '../documents/text-boundaries';

/** What ends a sentence, and may stand behind that. */
const STOP = /[.!?…。！？]["'”’»)\]]*$/u;
/** A stop behind these ends none: titles, abbreviations, single capitals, and numbers of lists. */
const NO_STOP =
  /(?:^|[\s(])(?:\p{Lu}|[Dd]r|[Mm]rs?|[Mm]s|[Pp]rof|[Ss]t|[Nn][or]|[Ff]igs?|vs|e\.g|i\.e|z\.\s?B|cf|ca|al)\.\s*$/u;
const LIST_MARK = /^\s*(?:\d{1,3}[.)]|[-*•])\s*$/u;
/** Longer than both. */
const NO_STOP_CHARACTERS = 16;

/** A part of a text. */
export interface TextPart {
  start: number;
  end: number;
}

/**
 * The sentences of an answer, without white space around them. Each line ends one, and so does a citation behind a stop
 * (`cited`: the places of citations, ascending).
 */
export function answerSentences(text: string, cited: readonly number[]): TextPart[] {
  const breaks = new Set<number>();
  let from = 0;
  for (const line of text.split('\n')) {
    breaks.add(from);
    for (const start of sentenceStarts(line, 0, 0)) breaks.add(from + start);
    from += line.length + 1;
  }
  for (const at of cited) if (STOP.test(text.slice(Math.max(0, at - 8), at))) breaks.add(at);
  const starts = [...breaks].sort((a, b) => a - b);
  const parts: TextPart[] = [];
  /** Where the sentence begins that has not ended. */
  let open = 0;
  for (const end of [...starts.slice(1), text.length]) {
    const isLine = text[end - 1] === '\n' || end === text.length;
    if (!isLine && endsNone(text, open, end)) continue;
    const part = trimmed(text, { start: open, end });
    if (part !== null) parts.push(part);
    open = end;
  }
  return parts;
}

/** Whether what is between two places is no whole sentence. Only its end is looked at: it may be long. */
function endsNone(text: string, open: number, end: number): boolean {
  let to = end;
  while (to > open && isBlankUnit(text.charCodeAt(to - 1))) to -= 1;
  const said = text.slice(Math.max(open, to - NO_STOP_CHARACTERS), to);
  return NO_STOP.test(said) || (to - open <= NO_STOP_CHARACTERS && LIST_MARK.test(said));
}

/** Which sentence a citation is of: that which has the character before it, or ends there. -1: there is none. */
export function sentenceAt(parts: readonly TextPart[], at: number): number {
  let [from, to] = [0, parts.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (parts[middle].start >= at) to = middle;
    else from = middle + 1;
  }
  return from === parts.length ? parts.length - 1 : Math.max(0, from - 1);
}

function trimmed(text: string, { start, end }: TextPart): TextPart | null {
  const said = text.slice(start, end);
  const left = said.length - said.trimStart().length;
  const length = said.trim().length;
  return length === 0 ? null : { start: start + left, end: start + left + length };
}
