/**
 * One operation on one id: what was asked, when, and what came of it. Times are milliseconds of one process's clock.
 */
export interface RegisterOperation {
  client: number;
  id: string;
  kind: 'write' | 'delete' | 'read';
  /** Of a write: unique over the history. Of a read that was answered: what it saw, null for nothing. */
  value: number | null;
  invokedMs: number;
  /** Infinity: never answered, so that a write may take effect at any time from then on, or never. */
  returnedMs: number;
  outcome: 'ok' | 'failed' | 'unknown';
}

/**
 * What contradicts that each id is one register (reads and writes take effect at one moment between their call and
 * their answer); empty when nothing was found. The checks are necessary ones, each a plain sentence about two or three
 * operations: a read sees something that was written, not something overwritten before it began, and not something
 * older than what an earlier read saw.
 */
export function contradictionsOf(history: readonly RegisterOperation[]): string[] {
  const byId = new Map<string, RegisterOperation[]>();
  for (const operation of history) {
    const operations = byId.get(operation.id);
    if (operations === undefined) byId.set(operation.id, [operation]);
    else operations.push(operation);
  }
  return [...byId.values()].flatMap(contradictionsOfOne);
}

function contradictionsOfOne(operations: RegisterOperation[]): string[] {
  const found: string[] = [];
  const changes = operations.filter(({ kind, outcome }) => kind !== 'read' && outcome !== 'failed');
  const reads = operations
    .filter(({ kind, outcome }) => kind === 'read' && outcome === 'ok')
    .sort((a, b) => a.invokedMs - b.invokedMs);
  const writers = new Map(changes.filter(({ kind }) => kind === 'write').map((write) => [write.value, write]));
  const refused = new Set(
    operations.filter(({ kind, outcome }) => kind === 'write' && outcome === 'failed').map(({ value }) => value),
  );
  for (const read of reads) {
    if (read.value !== null) {
      const writer = writers.get(read.value);
      if (writer === undefined) {
        found.push(`${say(read)}, ${refused.has(read.value) ? 'whose write was refused' : 'which nobody wrote'}`);
        continue;
      }
      if (writer.invokedMs > read.returnedMs) found.push(`${say(read)} before ${say(writer)} began`);
      const overwritten = changes.find(
        (change) =>
          change !== writer &&
          isCertain(change) &&
          change.invokedMs > writer.returnedMs &&
          change.returnedMs < read.invokedMs,
      );
      if (overwritten !== undefined)
        found.push(`${say(read)}, but ${say(overwritten)} came after ${say(writer)} and before the read`);
    } else {
      // Nothing there: no write may stand that no delete can have undone.
      const standing = changes.find(
        (change) =>
          change.kind === 'write' &&
          isCertain(change) &&
          change.returnedMs < read.invokedMs &&
          !changes.some(
            (other) =>
              other.kind === 'delete' && other.returnedMs > change.invokedMs && other.invokedMs < read.returnedMs,
          ),
      );
      if (standing !== undefined) found.push(`${say(read)}, but ${say(standing)} stands: a write is lost`);
    }
  }
  for (let later = 1; later < reads.length; later += 1) {
    for (let earlier = 0; earlier < later; earlier += 1) {
      const [first, second] = [reads[earlier], reads[later]];
      if (first.returnedMs >= second.invokedMs || first.value === second.value) continue;
      const [old, young] = [writers.get(second.value ?? NaN), writers.get(first.value ?? NaN)];
      if (old !== undefined && young !== undefined && old.returnedMs < young.invokedMs)
        found.push(`${say(second)} after ${say(first)}: it went back`);
    }
  }
  return found;
}

function isCertain({ outcome }: RegisterOperation): boolean {
  return outcome === 'ok';
}

function say({ client, id, kind, value, invokedMs, returnedMs }: RegisterOperation): string {
  const what = kind === 'read' ? `read ${value ?? 'nothing'}` : kind === 'write' ? `wrote ${value}` : 'deleted';
  return `client ${client} ${what} of ${id} [${invokedMs.toFixed(0)}, ${returnedMs.toFixed(0)}]`;
}
