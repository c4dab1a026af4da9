import type { Damage } from './damage';
import type { Outcome } from './expectations';

/** What is right after a file of a node was damaged while that did not run, and another replica is well. `file`: relative to the data folder. */
export interface NodeFileRow {
  kind: string;
  /** `<uid>`: the collection. */
  file: RegExp;
  right: Record<Damage, readonly Outcome[]>;
}

const all = (...outcomes: Outcome[]): Record<Damage, readonly Outcome[]> => ({ missing: outcomes, truncated: outcomes, flipped: outcomes });

/** Damaged records are put aside and copied; the rest is made anew. */
export const NODE_FILES: readonly NodeFileRow[] = [
  { kind: 'records: table', file: /^node\/shards\/<uid>\/0\/records\/\d+\.sst$/, right: all('copied') },
  { kind: 'records: write-ahead log', file: /^node\/shards\/<uid>\/0\/records\/\d+\.log$/, right: all('copied') },
  { kind: 'records: MANIFEST', file: /^node\/shards\/<uid>\/0\/records\/MANIFEST-\d+$/, right: all('copied') },
  { kind: 'records: CURRENT', file: /^node\/shards\/<uid>\/0\/records\/CURRENT$/, right: all('copied') },
  { kind: 'mark of the log', file: /^node\/shards\/<uid>\/0\/log-mark$/, right: all('served', 'copied') },
  { kind: 'checkpoint: manifest', file: /^node\/shards\/<uid>\/0\/MANIFEST\.json$/, right: all('served', 'rebuilt') },
  { kind: 'checkpoint: directory', file: /^node\/shards\/<uid>\/0\/checkpoint-\d+\/directory$/, right: all('served', 'rebuilt') },
  { kind: 'vectors: originals', file: /^node\/shards\/<uid>\/0\/vectors\/originals-\d+\.f32$/, right: all('served', 'rebuilt') },
  { kind: 'vectors: saved index', file: /^node\/shards\/<uid>\/0\/vectors\/save-[\d-]+\.index$/, right: all('served', 'rebuilt') },
  { kind: 'store of a shard', file: /^node\/stores\/<uid>\.0$/, right: all('served', 'copied', 'ends') },
  { kind: 'known assignment', file: /^node\/stores\/<uid>\.0\.map$/, right: all('served') },
  { kind: 'note of a store', file: /^node\/notes\/<uid>\.0$/, right: all('served') },
  // Who is not known takes part in nothing.
  { kind: 'name of the node', file: /^node\/store\.json$/, right: all('ends') },
  { kind: 'name of the cluster', file: /^node\/cluster\.json$/, right: { missing: ['served'], truncated: ['ends'], flipped: ['ends'] } },
  { kind: 'format of the data folder', file: /^format\.json$/, right: { missing: ['served'], truncated: ['ends', 'served'], flipped: ['ends', 'served'] } },
];
