const MIB = 1024 * 1024;

/** Figures of all servers side by side as text, and, with a peer, how many times Quiver's is the peer's. */
export function formatReport({ dataset, servers, libraries }) {
  const lines = [
    `${dataset.name}: ${dataset.count} × ${dataset.dim}, ${dataset.metric}, ${dataset.queryCount} queries, k = 10`,
    '',
  ];
  const [own, ...peers] = servers;
  const table = [['', ...servers.map((server) => server.name), ...peers.map((peer) => `${own.name} / ${peer.name}`)]];
  const row = (label, read, format, { lessIsBetter = false } = {}) => {
    const values = servers.map((server) => read(server) ?? null);
    if (values.every((value) => value === null)) return;
    const ratios = values
      .slice(1)
      .map((value) =>
        value === null || values[0] === null
          ? ''
          : `${(lessIsBetter ? value / values[0] : values[0] / value).toFixed(2)} ×`,
      );
    table.push([label, ...values.map((value) => (value === null ? '' : format(value))), ...ratios]);
  };
  const count = (value) => Math.round(value).toLocaleString('en');
  const milliseconds = (value) => `${value.toFixed(value < 10 ? 2 : 0)} ms`;
  const mebibytes = (value) => `${Math.round(value / MIB)} MiB`;
  row('rows/s until acknowledged', (server) => server.loading?.rowsPerSecond, count);
  row('rows/s until indexed', (server) => server.settling?.rowsPerSecond, count);
  row('rows/s until refined', (server) => server.settling?.settledRowsPerSecond, count);
  row(
    'recall@10',
    (server) => server.search.recall,
    (value) => value.toFixed(4),
  );
  for (const { connections } of own.search.speeds) {
    const speed = (server) => server.search.speeds.find((entry) => entry.connections === connections);
    row(`queries/s, ${connections} connections`, (server) => speed(server)?.queriesPerSecond, count);
    row(`p50, ${connections} connections`, (server) => speed(server)?.p50Ms, milliseconds, { lessIsBetter: true });
    row(`p99, ${connections} connections`, (server) => speed(server)?.p99Ms, milliseconds, { lessIsBetter: true });
    row(
      `processor time a query, ${connections} connections`,
      (server) => speed(server)?.processorMicros,
      (value) => `${Math.round(value)} µs`,
      { lessIsBetter: true },
    );
  }
  for (const { keptShare } of own.filtered ?? []) {
    const entry = (server) => server.filtered?.find((other) => other.keptShare === keptShare);
    const label = `filter keeps ${keptShare * 100} %`;
    row(
      `${label}: recall@10`,
      (server) => entry(server)?.recall,
      (value) => value.toFixed(4),
    );
    row(`${label}: p50`, (server) => entry(server)?.p50Ms, milliseconds, { lessIsBetter: true });
  }
  row('memory, resident', (server) => server.space?.memory?.totalBytes, mebibytes, { lessIsBetter: true });
  row('memory, without mapped files', (server) => server.space?.memory?.ownBytes, mebibytes, { lessIsBetter: true });
  row('disk', (server) => server.space?.diskBytes, mebibytes, { lessIsBetter: true });
  for (const signal of ['SIGTERM', 'SIGKILL']) {
    row(`first answer after ${signal}`, (server) => server.restarts?.[signal]?.firstAnswerMs, milliseconds, {
      lessIsBetter: true,
    });
  }
  lines.push(...aligned(table));
  for (const peer of peers) {
    const percent = (share) => Math.round(share * 100);
    const shares = peer.search.speeds.map(
      ({ connections, share }) =>
        `${percent(share.median)} % with ${connections} (${percent(share.least)}–${percent(share.most)})`,
    );
    lines.push('', `${peer.name}, of ${own.name}'s queries/s in the same round, by connections: ${shares.join(', ')}`);
  }
  if (own.settling?.effort !== undefined)
    lines.push(
      '',
      `calibrated effort (ef) ${own.settling.effort}, ${own.settling.growingRows} rows outside the graph; raw vectors ${mebibytes(dataset.count * dataset.dim * 4)}`,
    );
  if (libraries.length > 0) {
    const libraryTable = [['in process, one thread', 'built rows/s', 'effort', 'recall@10', 'µs/search']];
    for (const entry of libraries)
      libraryTable.push([
        entry.name,
        count(entry.rowsPerSecond),
        String(entry.effort),
        entry.recall.toFixed(4),
        entry.microsecondsPerSearch.toFixed(0),
      ]);
    lines.push('', ...aligned(libraryTable));
  }
  return `${lines.join('\n')}\n`;
}

function aligned(table) {
  const widths = table[0].map((_, column) => Math.max(...table.map((cells) => (cells[column] ?? '').length)));
  return table.map((cells) =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join('  ')
      .trimEnd(),
  );
}
