import { QuiverError } from '../../clients/typescript/src/errors';

/** The folder is not open: it was closed, or its service has ended. */
export class ClosedError extends QuiverError {
  override name = 'ClosedError';
  /** Whether the call may have been carried out. */
  readonly mayHaveArrived: boolean;

  constructor(message: string, options: { cause?: unknown; mayHaveArrived: boolean }) {
    super(message, options);
    this.mayHaveArrived = options.mayHaveArrived;
  }
}
