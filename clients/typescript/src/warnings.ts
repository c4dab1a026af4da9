/** Kinds of warnings that are remembered; then all are told anew. */
const REMEMBERED_MAX = 1_000;

/** Writes each kind of warning to the console once: those that differ in numbers alone are of one kind. */
export class ConsoleWarnings {
  private readonly told = new Set<string>();

  readonly tell = (warning: string): void => {
    const kind = warning.replace(/\d+/g, '#');
    if (this.told.has(kind)) return;
    if (this.told.size === REMEMBERED_MAX) this.told.clear();
    this.told.add(kind);
    console.warn(`quiver: ${warning}`);
  };
}
