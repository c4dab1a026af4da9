import type { RoundReport, Summary } from './hostile-run';

/** Of codes that are no errors of the service. */
const OUTCOMES: Record<string, string> = { '0': 'ok', '-1': 'closed', '-2': 'under way' };

/** What of a round exceeds the limit or may not be; empty when it holds. */
export function excesses(round: RoundReport, limitMs: number): string[] {
  const over = (what: string, { longestMs }: Summary): string[] => {
    // What the harness itself was late by is not the server's.
    return longestMs - round.ownLatenessMs > limitMs ? [`${what} waited ${longestMs} ms`] : [];
  };
  return [
    ...over('search', round.search),
    ...Object.entries(round.livez).flatMap(([name, summary]) => over(`/livez of ${name}`, summary)),
    ...round.leadChanges.map((change) => `lead changed: ${change}`),
    ...round.failures,
  ];
}

export function tableHead(): string {
  return '| attack | search: longest, p99 ms | /livez: longest, p99 ms | longest turn, ms of processor time | harness late ms | memory peak MiB | honest 429 | answers by code |\n|---|---|---|---|---|---|---|---|';
}

export function tableRow(round: RoundReport, limitMs: number): string {
  const waits = ({ longestMs, p99Ms }: Summary): string => `${longestMs}, ${p99Ms}`;
  const each = (values: Record<string, string | number>): string => {
    const entries = Object.entries(values);
    if (entries.length === 0) return '';
    return entries.length === 1 ? String(entries[0][1]) : entries.map(([name, value]) => `${name} ${value}`).join('; ');
  };
  const livez = Object.fromEntries(Object.entries(round.livez).map(([name, summary]) => [name, waits(summary)]));
  const codes = Object.entries(round.tally)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .filter(([code, count], _i, all) => count > 0 && (code !== '-2' || all.length === 1))
    .map(([code, count]) => `${OUTCOMES[code] ?? code} ${count}`);
  const verdict = excesses(round, limitMs).length > 0 ? ' **over**' : '';
  return `| ${round.name}${verdict} | ${waits(round.search)} | ${each(livez)} | ${each(round.turns)} | ${round.ownLatenessMs} | ${each(round.peakMiB)} | ${round.search.refused} | ${codes.join(', ')} |`;
}
