import { markIn } from '../../../shared/base/text/term-mark';
import type { ExpansionRequest, Expansions } from '../../../shared/contract/shard/keyword-expansion';

/** Few words, which plain readings compare over and over. */
const edits = new Map<string, number>();

/** Edits from one word to another. */
export function plainEdits(a: string, b: string): number {
  const words = `${a}\0${b}`;
  let known = edits.get(words);
  if (known === undefined) edits.set(words, (known = countedEdits(a, b)));
  return known;
}

/** The textbook's table, with swaps of neighbours. */
function countedEdits(a: string, b: string): number {
  const table = Array.from({ length: a.length + 1 }, (_, i) => Array.from({ length: b.length + 1 }, (__, j) => i + j));
  for (let i = 1; i <= a.length; i++)
    for (let j = 1; j <= b.length; j++) {
      const costs = [table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + Number(a[i - 1] !== b[j - 1])];
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) costs.push(table[i - 2][j - 2] + 1);
      table[i][j] = Math.min(...costs);
    }
  return table[a.length][b.length];
}

/** The expansions of a term in some documents, from their definition. */
export function plainExpansions(
  documents: readonly (readonly string[])[],
  { term, by, after, limit }: ExpansionRequest,
): Expansions {
  const frequencies = new Map<string, number>();
  for (const document of documents)
    for (const one of new Set(document)) frequencies.set(one, (frequencies.get(one) ?? 0) + 1);
  const terms = [...frequencies.keys()]
    .filter(
      (one) =>
        one > after &&
        (by === 'prefix' ? one.startsWith(term) : markIn(one) === markIn(term) && plainEdits(one, term) <= by),
    )
    .sort((a, b) => (a < b ? -1 : 1))
    .slice(0, limit);
  return { terms, frequencies: terms.map((one) => frequencies.get(one)!) };
}
