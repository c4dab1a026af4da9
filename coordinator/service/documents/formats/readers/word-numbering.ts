import type { ListLevel } from './word-styles';
import { readXml } from './xml-events';

interface NumberLevel {
  start: number;
  format: string;
  /** `%1.%2` stands for the numbers of the first two levels. */
  text: string;
}

const LEVELS = 9;
const ROMAN: readonly [number, string][] = [
  [1000, 'm'],
  [900, 'cm'],
  [500, 'd'],
  [400, 'cd'],
  [100, 'c'],
  [90, 'xc'],
  [50, 'l'],
  [40, 'xl'],
  [10, 'x'],
  [9, 'ix'],
  [5, 'v'],
  [4, 'iv'],
  [1, 'i'],
];

/** The numbers that a word processor writes before headings; the document itself has only the rules for them. */
export class WordNumbering {
  /** By number of the rule. */
  private readonly rules = new Map<string, Map<number, NumberLevel>>();
  private readonly ruleOfList = new Map<string, string>();
  /** How far each rule has counted. */
  private readonly counts = new Map<string, (number | undefined)[]>();

  /** Errors: invalid_parameter. */
  constructor(bytes: Buffer | null) {
    if (bytes === null) return;
    let levels = new Map<number, NumberLevel>();
    let level: NumberLevel | null = null;
    let list = '';
    readXml(bytes, 'numbering.xml', {
      open: (name, attribute) => {
        const value = attribute('val') ?? '';
        if (name === 'abstractNum') this.rules.set(attribute('abstractNumId') ?? '', (levels = new Map()));
        else if (name === 'lvl') {
          level = { start: 1, format: 'decimal', text: '' };
          levels.set(Number(attribute('ilvl')), level);
        } else if (name === 'num') list = attribute('numId') ?? '';
        else if (name === 'abstractNumId') this.ruleOfList.set(list, value);
        else if (level === null) return;
        else if (name === 'start') level.start = Number(value);
        else if (name === 'numFmt') level.format = value;
        else if (name === 'lvlText') level.text = value;
      },
      close: (name) => {
        if (name === 'lvl') level = null;
      },
      text: () => undefined,
    });
  }

  /** The number of the next heading of a list, such as `2.1`; '' if it has none. */
  next({ list, level }: ListLevel): string {
    const rule = this.ruleOfList.get(list) ?? '';
    const levels = this.rules.get(rule);
    const own = levels?.get(level);
    if (levels === undefined || own === undefined || !(level >= 0 && level < LEVELS)) return '';
    const counts = this.counts.get(rule) ?? [];
    this.counts.set(rule, counts);
    counts[level] = (counts[level] ?? own.start - 1) + 1;
    counts.length = level + 1;
    if (own.format === 'bullet' || own.format === 'none') return '';
    return own.text
      .replace(/%([1-9])/g, (_all, digit: string) => {
        const at = Number(digit) - 1;
        const { start = 1, format = 'decimal' } = levels.get(at) ?? {};
        return written(counts[at] ?? start, format);
      })
      .trim();
  }
}

function written(count: number, format: string): string {
  switch (format) {
    case 'none':
      return '';
    case 'upperLetter':
      return letters(count).toUpperCase();
    case 'lowerLetter':
      return letters(count);
    case 'upperRoman':
      return roman(count).toUpperCase();
    case 'lowerRoman':
      return roman(count);
    default:
      return String(count);
  }
}

/** a, b, … z, aa, bb. */
function letters(count: number): string {
  const letter = String.fromCharCode(97 + ((((count - 1) % 26) + 26) % 26));
  return letter.repeat(Math.min(Math.max(1, Math.ceil(count / 26)), LEVELS));
}

function roman(count: number): string {
  if (!(count > 0 && count < 4000)) return String(count);
  let rest = count;
  let text = '';
  for (const [value, sign] of ROMAN) {
    while (rest >= value) {
      text += sign;
      rest -= value;
    }
  }
  return text;
}
