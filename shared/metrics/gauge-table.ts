import { Gauge, type Registry } from 'prom-client';

/** A gauge of a table: name, help, and the value read from an entry; null when the entry has none. */
export type GaugeColumn<Entry> = [name: string, help: string, read: (entry: Entry) => number | null];

/** Gauges that share their labels and are read from the same entries, such as all that is known of a shard. */
export class GaugeTable<Label extends string, Entry> {
  private readonly isLabelled: boolean;
  private readonly columns: { gauge: Gauge<Label>; read: (entry: Entry) => number | null }[];

  constructor(registry: Registry, labelNames: readonly Label[], columns: readonly GaugeColumn<Entry>[]) {
    this.isLabelled = labelNames.length > 0;
    this.columns = columns.map(([name, help, read]) => ({ gauge: new Gauge({ name, help, labelNames, registers: [registry] }), read }));
  }

  /** Shows these entries and nothing of earlier ones: what is gone must not be shown as it was. */
  show(entries: readonly { labels: Record<Label, string>; entry: Entry }[]): void {
    for (const { gauge, read } of this.columns) {
      gauge.reset();
      // One without labels is 0 after a reset, which would be a lie where nothing is known.
      if (!this.isLabelled) gauge.remove();
      for (const { labels, entry } of entries) {
        const value = read(entry);
        if (value !== null) gauge.set(labels, value);
      }
    }
  }
}
