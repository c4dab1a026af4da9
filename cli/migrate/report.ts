import { count } from '../terminal/print';
import { duration } from '../terminal/progress';
import { table } from '../terminal/table';
import type { Finding } from './finding';

/** What became of one move. */
export interface MoveReport {
  from: string;
  vector: string;
  to: string;
  dim: number | null;
  metric: string;
  text_field: string | null;
  /** Items there before reading began; null: the peer does not tell. */
  items_there: number | null;
  /** The rest is null in a plan. */
  read: number | null;
  rejected: number | null;
  reject_file: string | null;
  items_here: number | null;
  /** Everything that is there is here, but for what was rejected; null: nobody knows. */
  is_exact: boolean | null;
  seconds: number | null;
  findings: Finding[];
}

/** The JSON file beside what is printed. */
export interface MigrationReport {
  peer: { product: string; address: string };
  service: string;
  is_plan: boolean;
  started_at: string;
  collections: MoveReport[];
  skipped: { name: string; reason: string; findings: Finding[] }[];
  questions: string[];
}

/** The report for people. */
export function reportText(report: MigrationReport): string {
  const parts = [
    `${report.is_plan ? 'Plan: ' : ''}${report.peer.product} at ${report.peer.address} → Quiver at ${report.service}\n`,
  ];
  if (report.collections.length > 0) {
    const columns = report.is_plan
      ? ['from', 'vector', 'to', 'dim', 'metric', 'items']
      : ['from', 'vector', 'to', 'dim', 'metric', 'there', 'read', 'rejected', 'here', 'exact', 'time'];
    const rows = report.collections.map((move) => {
      const what = [move.from, move.vector || null, move.to, move.dim, move.metric, move.items_there];
      return report.is_plan
        ? what
        : [
            ...what,
            move.read,
            move.rejected,
            move.items_here,
            move.is_exact === null ? null : move.is_exact ? 'yes' : 'NO',
            duration(move.seconds ?? 0),
          ];
    });
    parts.push(table(columns, rows));
  }
  for (const { from, to, findings, reject_file, rejected } of report.collections) {
    if (findings.length > 0) parts.push(`\n${from} → ${to}:\n${findings.map(line).join('')}`);
    if (rejected) parts.push(`  ${count(rejected)} not stored, listed in ${reject_file}\n`);
  }
  if (report.skipped.length > 0)
    parts.push(
      `\nNot moved:\n${report.skipped.map(({ name, reason }) => `  ${shown(`${name}: ${reason}`)}\n`).join('')}`,
    );
  if (report.questions.length > 0)
    parts.push(`\nTo be said first:\n${report.questions.map((question) => `  ${shown(question)}\n`).join('')}`);
  return parts.join('');
}

/** Peers' words without what would move the cursor. */
function shown(text: string): string {
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, ' ');
}

function line({ topic, effect, detail, items }: Finding): string {
  return `  ${effect}, ${topic}: ${shown(detail)}${items === undefined ? '' : ` (${count(items)} ${items === 1 ? 'item' : 'items'})`}\n`;
}
