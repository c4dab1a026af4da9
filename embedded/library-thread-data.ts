/** What the thread of a program’s own service is started with. */
export interface LibraryThreadData {
  /** An absolute path. */
  folder: string;
  /** By their names. */
  settings: Record<string, string>;
  /** The command line of the program. */
  words: readonly string[];
}
