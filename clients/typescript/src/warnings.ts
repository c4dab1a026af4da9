/** Kinds of warnings that are remembered; then all are told anew. */
const REMEMBERED_MAX = 1_000;

/**
 * Tells each kind of warning once: those that differ in numbers alone, or in how many items they name, are of one kind.
 */
export class WarningsOnce {
  private readonly told = new Set<string>();

  constructor(private readonly write: (warning: string) => void) {}

  readonly tell = (warning: string): void => {
    const kind = warning.replace(/\d+/g, '#').replace(/(\w*\[#\])(?:, \1)+/g, '$1');
    if (this.told.has(kind)) return;
    if (this.told.size === REMEMBERED_MAX) this.told.clear();
    this.told.add(kind);
    this.write(warning);
  };
}
