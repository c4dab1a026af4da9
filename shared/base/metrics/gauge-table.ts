import { Gauge, type Registry } from 'prom-client';

/**
 * One gauge of a table: name, help, and a function that reads the value from an entry; null when the entry has none.
 */
export type GaugeColumn<Entry> = [name: string, help: string, read: (entry: Entry) => number | null];

/** Gauges that share their labels and read the same entries, for example everything that is known about a shard. */
export class GaugeTable<Label extends string, Entry> {
  private readonly isLabelled: boolean;
  private readonly columns: { gauge: Gauge<Label>; read: (entry: Entry) => number | null }[];

  constructor(registry: Registry, labelNames: readonly Label[], columns: readonly GaugeColumn<Entry>[]) {
    this.isLabelled = labelNames.length > 0;
    this.columns = columns.map(([name, help, read]) => ({
      gauge: new Gauge({ name, help, labelNames, registers: [registry] }),
      read,
    }));
  }

  /** Shows these entries and removes all earlier ones, so that nothing outdated is shown. */
  show(entries: readonly { labels: Record<Label, string>; entry: Entry }[]): void {
    for (const { gauge, read } of this.columns) {
      gauge.reset();
      // After a reset, a gauge without labels is 0, which would be wrong if nothing is known.
      if (!this.isLabelled) gauge.remove();
      for (const { labels, entry } of entries) {
        const value = read(entry);
        if (value !== null) gauge.set(labels, value);
      }
    }
  }
}
