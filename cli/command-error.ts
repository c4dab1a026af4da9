/** What a command's exit code says, for scripts. docs/command-line.md has the table. */
export const EXIT_CODES = {
  done: 0,
  /** The service refused, or something went wrong that has no code of its own. */
  failed: 1,
  /** The command line, a file of the user or a profile is not as it must be; nothing was asked of the service. */
  usage: 2,
  /** Everything was done but for rows that are in the reject file. */
  rowsRejected: 3,
  /** No answer from the service, for as long as the command was told to try. */
  unreachable: 4,
  /** The collection, item or node is not there. */
  notFound: 5,
  /** The key is missing or wrong, or may not do this. */
  denied: 6,
  /** Ctrl-C, SIGTERM or SIGHUP; what can be resumed can be. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES];

/** Ends a command with a message of one line or a few for the user, and an exit code. */
export class CommandError extends Error {
  constructor(
    message: string,
    readonly exitCode: ExitCode = EXIT_CODES.failed,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'CommandError';
  }
}
