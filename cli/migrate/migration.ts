import { accessSync, constants, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CommandContext } from '../command-context';
import { CommandError, EXIT_CODES } from '../command-error';
import type { Connection } from '../connection/connection';
import { showProgress } from '../terminal/progress';
import { printJson } from '../terminal/print';
import type { LaneOptions } from '../writing/bulk-lanes';
import { ResumeFile, resumePath } from '../writing/resume-file';
import { type MoveState, ItemsMove } from './move-items';
import type { PeerSource } from './peer-source';
import { type Choices, type Move, planMigration } from './plan';
import { type MigrationReport, type MoveReport, reportText } from './report';

export interface MigrationOptions {
  context: CommandContext;
  connection: Connection;
  source: PeerSource;
  peer: string;
  /** Of the peer, without secrets. */
  address: string;
  /** What else says which items are meant: database, tenant, condition. */
  scope: Record<string, string | null>;
  choices: Choices;
  newCollection: Record<string, unknown>;
  lanes: Omit<LaneOptions, 'connection' | 'collection'>;
  pageItems: number | null;
  /** Null: no file. */
  reportPath: string | null;
  rejectFolder: string;
  isPlanOnly: boolean;
  isIntoExisting: boolean;
  isRestart: boolean;
  isQuiet: boolean;
  isJson: boolean;
}

/**
 * Moves what the choices say, one collection after the other, and reports. Interrupted or killed, the same command goes
 * on where it was: finished collections are not read again.
 */
export async function migrate(options: MigrationOptions): Promise<void> {
  const { context, source, choices } = options;
  // Before hours of work, not after.
  for (const folder of [options.rejectFolder, ...(options.reportPath === null ? [] : [dirname(options.reportPath)])])
    checkFolder(folder);
  const product = await source.version();
  const plan = planMigration(await source.collections(), choices);
  const report: MigrationReport = {
    peer: { product, address: options.address },
    service: options.connection.target.url,
    is_plan: options.isPlanOnly || plan.questions.length > 0,
    started_at: new Date().toISOString(),
    collections: plan.moves.map(plannedReport),
    skipped: plan.skipped,
    questions: plan.questions,
  };
  if (report.is_plan || plan.moves.length === 0) {
    publish(report, options);
    if (plan.questions.length > 0)
      throw new CommandError(
        `nothing was moved: ${plan.questions.length === 1 ? 'a question is' : `${plan.questions.length} questions are`} open`,
        EXIT_CODES.usage,
      );
    if (plan.moves.length === 0)
      throw new CommandError(`there is nothing to move at ${options.address}`, EXIT_CODES.notFound);
    return;
  }
  const files: ResumeFile<MoveState>[] = [];
  for (const [i, move] of plan.moves.entries()) {
    const file = resumeFile(move, options);
    files.push(file);
    report.collections[i] = await moveOne(move, file, options);
  }
  publish(report, options);
  // Only now: a run that is killed between two collections must not read the first again.
  for (const file of files) file.remove();
  const inexact = report.collections.filter(({ is_exact }) => is_exact === false);
  if (inexact.length > 0)
    throw new CommandError(
      `not as many items here as there: ${inexact.map(({ to }) => to).join(', ')}. Is somebody writing to the peer, or to Quiver?`,
    );
  if (report.collections.some(({ rejected }) => rejected)) context.exitWith(EXIT_CODES.rowsRejected);
}

async function moveOne(move: Move, resume: ResumeFile<MoveState>, options: MigrationOptions): Promise<MoveReport> {
  const { context } = options;
  const startedAt = performance.now();
  const { count: there } = move.from;
  const progress = showProgress(context, { label: move.to, unit: 'items', isQuiet: options.isQuiet });
  try {
    const moving = await ItemsMove.begin({
      ...options,
      move,
      resume,
      rejectPath: join(options.rejectFolder, `migrate-${move.to}.rejects.jsonl`),
      lanes: {
        ...options.lanes,
        onWait: (reason, waitMs) =>
          progress.say(`${move.to}: ${reason}; trying again in ${Math.ceil(waitMs / 1000)} s`),
      },
      onProgress: (read) => progress.report(there === null || there === 0 ? null : Math.min(1, read / there), read),
      say: (line) => progress.say(line),
    });
    await moving.run();
    const { state } = moving;
    // Items that were here before may have had the same ids.
    const expected = there === null || state.before > 0 ? null : there - state.rejected;
    const here = await moving.countHere(expected);
    return {
      ...plannedReport(move),
      dim: state.dim,
      read: state.read,
      rejected: state.rejected,
      reject_file: state.rejected > 0 ? join(options.rejectFolder, `migrate-${move.to}.rejects.jsonl`) : null,
      items_here: here,
      is_exact: expected === null ? null : here === expected,
      seconds: (performance.now() - startedAt) / 1000,
      findings: [...move.findings, ...state.findings],
    };
  } finally {
    progress.stop();
  }
}

function plannedReport(move: Move): MoveReport {
  const { from, vector, to, metric, textField, findings } = move;
  const open = { read: null, rejected: null, reject_file: null, items_here: null, is_exact: null, seconds: null };
  return {
    from: from.name,
    vector: vector.name,
    to,
    dim: vector.dim,
    metric,
    text_field: textField,
    items_there: from.count,
    ...open,
    findings,
  };
}

function resumeFile(
  move: Move,
  { context, connection, peer, address, scope, newCollection }: MigrationOptions,
): ResumeFile<MoveState> {
  const identity = {
    peer,
    address,
    ...scope,
    collection: move.from.name,
    vector: move.vector.name,
    metric: move.metric,
    text: move.textField,
    service: connection.target.url,
    to: move.to,
    ...newCollection,
  };
  return new ResumeFile<MoveState>(resumePath(context.environment, identity), identity);
}

function checkFolder(folder: string): void {
  try {
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new CommandError(`reports can't be written to ${folder}: ${(error as Error).message}`, EXIT_CODES.usage, {
      cause: error,
    });
  }
}

function publish(report: MigrationReport, { context, reportPath, isJson }: MigrationOptions): void {
  if (reportPath !== null) {
    writeFileSync(reportPath, `${JSON.stringify(report, null, 2)}\n`);
  }
  if (isJson) return printJson(context, report);
  context.output.write(reportText(report));
  if (reportPath !== null) context.messages.write(`the report is also in ${reportPath}\n`);
}
