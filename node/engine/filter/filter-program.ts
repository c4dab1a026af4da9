import { caseTable } from './case-fold';
import type { Filter, RangeOperator, TextCondition } from '../../../shared/contract/filter/filter';
import { nativeBinding } from '../vector/native-binding';
import { FilterWords } from './filter-words';
import { patternUnits } from './text-test';

/** Kinds of conditions and ranges, as the addon numbers them (node/engine/native/filter/filter_program.h). */
const CONDITION = { and: 0, or: 1, not: 2, equals: 3, in: 4, range: 5, exists: 6, text: 7 } as const;
const RANGE: Record<RangeOperator, number> = { gt: 0, gte: 1, lt: 2, lte: 3 };
const TEXT_TEST: Record<TextCondition['test'], number> = { prefix: 0, contains: 1, like: 2 };

let hasCases = false;

/** A filter in the addon's form. */
export function filterProgram(filter: Filter): Uint32Array {
  const words = new FilterWords();
  write(filter, words);
  return words.words.subarray(0, words.length);
}

function write(filter: Filter, words: FilterWords): void {
  words.word(CONDITION[filter.type]);
  switch (filter.type) {
    case 'and':
    case 'or':
      words.word(filter.filters.length);
      for (const part of filter.filters) write(part, words);
      return;
    case 'not':
      return write(filter.filter, words);
    case 'equals':
      words.wideText(filter.path);
      return words.value(filter.value);
    case 'in':
      words.wideText(filter.path);
      words.word(filter.values.length);
      for (const value of filter.values) words.value(value);
      return;
    case 'range':
      words.wideText(filter.path);
      words.word(RANGE[filter.operator]);
      return words.value(filter.bound);
    case 'exists':
      words.wideText(filter.path);
      return;
    case 'text': {
      installCases();
      words.wideText(filter.path);
      words.word(TEXT_TEST[filter.test]);
      words.word(filter.fold ? 1 : 0);
      const units = patternUnits(filter);
      words.word(units.length);
      for (const unit of units) words.word(unit);
    }
  }
}

/** The addon knows no Unicode. */
function installCases(): void {
  if (hasCases) return;
  const { units, pairs } = caseTable();
  nativeBinding().foldCases(new Uint8Array(units.buffer), pairs);
  hasCases = true;
}
