import { readFileSync } from 'node:fs';

interface ProfileNode {
  id: number;
  callFrame: { functionName: string; url: string; lineNumber: number };
  children?: number[];
}

interface Profile {
  nodes: ProfileNode[];
  samples: number[];
  timeDeltas: number[];
}

const FUNCTIONS_SHOWN = 12;

/** The longest stretch in which the main thread never rested, and the functions that it was in for most of it. */
export function longestStretch(file: string): { milliseconds: number; functions: string[] } {
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, 'utf8')) as Profile;
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id] as const)));
  let longest = { from: 0, to: 0, micros: 0 };
  let from = 0;
  let micros = 0;
  for (let i = 0; i < samples.length; i += 1) {
    const { functionName } = (byId.get(samples[i]) as ProfileNode).callFrame;
    if (functionName === '(idle)') {
      from = i + 1;
      micros = 0;
      continue;
    }
    micros += timeDeltas[i];
    if (micros > longest.micros) longest = { from, to: i, micros };
  }
  const spent = new Map<string, number>();
  for (let i = longest.from; i <= longest.to; i += 1) {
    const seen = new Set<string>();
    for (let id: number | undefined = samples[i]; id !== undefined; id = parents.get(id))
      seen.add(nameOf(byId.get(id) as ProfileNode));
    for (const name of seen) spent.set(name, (spent.get(name) ?? 0) + timeDeltas[i]);
  }
  const functions = [...spent]
    .filter(([name]) => !name.startsWith('(root)'))
    .sort((a, b) => b[1] - a[1])
    .slice(0, FUNCTIONS_SHOWN);
  return {
    milliseconds: Math.round(longest.micros / 1000),
    functions: functions.map(([name, time]) => `${Math.round(time / 1000)} ms ${name}`),
  };
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const place = url === '' ? '' : ` ${url.replace(/^.*\/(?=(?:dist|node_modules)\/)/, '')}:${lineNumber + 1}`;
  return `${functionName || '(anonymous)'}${place}`;
}
