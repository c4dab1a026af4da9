import { readFileSync, writeFileSync } from 'node:fs';
import type { Operation, OperationArguments, OperationKind, OperationResult, Outcome } from './operation';

/** How an operation ended. */
export interface OperationEnd {
  outcome: Outcome;
  code?: number | null;
  message?: string | null;
  result?: OperationResult;
}

export interface OperationStart {
  client: string;
  kind: OperationKind;
  ids?: string[];
  args?: OperationArguments;
  coordinator: string;
  final?: boolean;
}

/**
 * Everything that clients of one process did, timed by that process's monotonic clock. An operation that was begun and
 * never ended counts as unknown.
 */
export class History {
  readonly operations: Operation[] = [];
  private readonly nowNanos: () => number;

  /** `nowNanos`: monotonic; the default counts from the making of the history, so that it stays a safe integer. */
  constructor(options: { nowNanos?: () => number } = {}) {
    const start = process.hrtime.bigint();
    this.nowNanos = options.nowNanos ?? (() => Number(process.hrtime.bigint() - start));
  }

  /** Records the call of an operation; to be called before the request leaves. Answers what records its end. */
  begin({
    client,
    kind,
    ids = [],
    args = {},
    coordinator,
    final = false,
  }: OperationStart): (end: OperationEnd) => Operation {
    const inv = this.nowNanos();
    const operation: Operation = {
      index: this.operations.length,
      client,
      kind,
      ids,
      args,
      inv,
      ret: inv,
      outcome: 'unknown',
      code: null,
      message: null,
      result: {},
      coordinator,
      final,
    };
    this.operations.push(operation);
    return ({ outcome, code = null, message = null, result = {} }) =>
      Object.assign(operation, { ret: this.nowNanos(), outcome, code, message, result });
  }

  /** Writes one JSON line per operation. */
  save(file: string): void {
    writeFileSync(file, this.operations.map((operation) => `${JSON.stringify(operation)}\n`).join(''));
  }

  /** Reads what {@link save} wrote. */
  static load(file: string): History {
    const history = new History();
    for (const line of readFileSync(file, 'utf8').split('\n'))
      if (line !== '') history.operations.push(JSON.parse(line) as Operation);
    return history;
  }
}
