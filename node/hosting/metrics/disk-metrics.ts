import { statfs } from 'node:fs/promises';
import { GaugeTable } from '../../../shared/base/metrics/gauge-table';
import type { ProcessMetrics } from '../../../shared/base/metrics/process-metrics';

/** Adds how full the file system of `folder` is: what a process without root's privileges can still write. */
export function addDiskMetrics(metrics: ProcessMetrics, folder: string): void {
  const disk = new GaugeTable<never, { freeBytes: number; sizeBytes: number }>(
    metrics.registry,
    [],
    [
      ['quiver_data_disk_free_bytes', 'Bytes free on the file system of DATA_DIR', ({ freeBytes }) => freeBytes],
      ['quiver_data_disk_size_bytes', 'Size of the file system of DATA_DIR', ({ sizeBytes }) => sizeBytes],
    ],
  );
  metrics.add({
    measure: async () => {
      const { bavail, blocks, bsize } = await statfs(folder);
      return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
    },
    show: (measured) => disk.show(measured === null ? [] : [{ labels: {}, entry: measured }]),
  });
}
