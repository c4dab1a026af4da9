import { SPEEDS } from './turns.mjs';

const MIB = 1024 * 1024;
const CELL_CHARACTERS_MAX = 240;

/** The middle, the least and the most of some figures. */
export function spreadOf(figures) {
  const sorted = [...figures].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const middle = sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  return { middle, least: sorted[0], most: sorted.at(-1) };
}

/**
 * Speeds as tables: the median, then the ratio to the first store that works, in the same round, and how far that went.
 */
export function formatSpeeds(speeds) {
  const baseline = speeds.find(({ failed }) => failed === null);
  const cell = (run, measure, pick) => {
    const own = run.figures[measure]?.map(pick);
    if (own === undefined) return run.failed ?? '';
    const shown = grouped(spreadOf(own).middle);
    const others = baseline?.figures[measure];
    if (others === undefined || run === baseline) return shown;
    const { middle, least, most } = spreadOf(
      own.slice(0, others.length).map((figure, round) => figure / pick(others[round])),
    );
    return `${shown} (${short(middle)} ×, ${short(least)}–${short(most)})`;
  };
  const busy = (run, measure) => {
    const shares = run.figures[measure]?.map(({ loopBusy }) => loopBusy);
    return shares === undefined ? '' : `${Math.round(spreadOf(shares).middle * 100)} %`;
  };
  const whole = (show) =>
    table(
      ['measure', ...speeds.map(({ name }) => name)],
      SPEEDS.map(({ name }) => [name, ...speeds.map((run) => show(run, name))]),
    );
  return [
    `Ratios are to ${baseline?.name ?? 'nothing'}. Operations a second:`,
    whole((run, measure) => cell(run, measure, ({ perSecond }) => perSecond)),
    'Processor time of one operation, µs, over all threads:',
    whole((run, measure) => cell(run, measure, ({ processorUs }) => processorUs)),
    "How much of the time JavaScript's thread was held:",
    whole(busy),
  ].join('\n');
}

export function formatStates(states, databases) {
  const of = (value, show) => (value === undefined ? '' : value === null ? 'no' : (value.failed ?? show(value)));
  const middleOf = (values, pick, show) =>
    Array.isArray(values) ? (values.length === 0 ? 'none' : show(spreadOf(values.map(pick)))) : of(values, show);
  const rows = [
    [
      `${databases} databases: memory`,
      (run) =>
        middleOf(
          run.many,
          ({ bytes }) => bytes,
          ({ middle }) => `${Math.round(middle / MIB)} MiB`,
        ),
    ],
    [
      `${databases} databases: open files`,
      (run) =>
        middleOf(
          run.many,
          ({ files }) => files,
          ({ middle }) => grouped(middle),
        ),
    ],
    [
      `${databases} databases: to open and write a batch to each`,
      (run) =>
        middleOf(
          run.many,
          ({ ms }) => ms,
          ({ middle }) => `${(middle / 1000).toFixed(1)} s`,
        ),
    ],
    [
      'opened with 50 MB of log of npm rocksdb (its own, of another engine)',
      (run) =>
        middleOf(
          run.opened,
          (ms) => ms,
          ({ middle, least, most }) => `${Math.round(middle)} ms (${Math.round(least)}–${Math.round(most)})`,
        ),
    ],
    [
      'opened with 25 MB of its own log',
      (run) =>
        middleOf(
          run.openedOwn,
          (ms) => ms,
          ({ middle, least, most }) => `${Math.round(middle)} ms (${Math.round(least)}–${Math.round(most)})`,
        ),
    ],
    ['a bit of the log flipped', (run) => of(run.logBit, fate)],
    ['the log cut', (run) => of(run.logTail, fate)],
    ['a bit of a table flipped', (run) => of(run.tableBit, fate)],
    ['another thread, by folder', (run) => of(run.threads, ({ folder }) => (folder.reads ? 'reads' : folder.error))],
    [
      'another thread, by handle',
      (run) => of(run.threads, ({ handle }) => of(handle, ({ reads, error }) => (reads ? 'reads' : error))),
    ],
    ['checkpoint of 53 MB', (run) => of(run.checkpoint, ({ ms }) => `${ms.toFixed(1)} ms`)],
  ];
  return table(
    ['state', ...states.map(({ name }) => name)],
    rows.map(([title, show]) => [title, ...states.map(show)]),
  );
}

/** What came of damage, by iterating and by gets. */
function fate({ open, iterated, got }) {
  if (open !== null) return `the open fails: ${open}`;
  return `iterating: ${heard(iterated)}; gets: ${heard(got)}`;
}

function heard({ told, right, wrong, rows }) {
  if (told !== null) return `an error (${told})`;
  return `nothing said, ${grouped(right)} of ${grouped(rows)} left${wrong > 0 ? `, ${wrong} WRONG` : ''}`;
}

export function formatNodes(results, nodes) {
  return table(
    ['store', ...nodes],
    results.map(({ name, outcomes }) => [name, ...nodes.map((node) => outcomes[node])]),
  );
}

export function formatSetup(results) {
  const rows = results.map(({ name, fetchedBytes, installedBytes, seconds, platforms }) => [
    name,
    `${Math.round(fetchedBytes / 1e6)} MB`,
    `${Math.round(installedBytes / 1e6)} MB`,
    `${seconds.toFixed(1)} s`,
    platforms.join(', '),
  ]);
  return table(['package', 'fetched', 'installed', 'time', 'binaries for'], rows);
}

function table(head, rows) {
  const line = (cells) => `| ${cells.map(plain).join(' | ')} |`;
  return `${[line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')}\n`;
}

/** Fit for a cell: one line, without the folders of this run, and with the beginning of a long message. */
function plain(cell) {
  const text = String(cell)
    .replace(/\s+/g, ' ')
    .replaceAll('|', '/')
    .replace(/\S*quiver-bench-store-[^/\s]*\//g, '…/');
  return text.length > CELL_CHARACTERS_MAX ? `${text.slice(0, CELL_CHARACTERS_MAX)}…` : text;
}

function grouped(value) {
  return value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString('en');
}

function short(ratio) {
  return ratio.toFixed(ratio < 10 ? 2 : 0);
}
