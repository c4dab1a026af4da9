import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(__dirname, '../../..');
export const ALERTS_FILE = join(root, 'helm/files/alerts.yaml');
export const ALERT_STORIES_FILE = join(root, 'test/alerts/alerts.test.yaml');
export const DASHBOARD_FILE = join(root, 'helm/files/dashboard.json');

/** Names that processes export; functions of PromQL and labels are not called so. */
const METRIC_NAME = /\b(?:quiver|vectordb|process|nodejs)_[a-z0-9_]+\b/g;
/** A histogram's series, by its name. */
const SERIES_SUFFIX = /_(?:bucket|sum|count)$/;

export interface DashboardPanel {
  id: number;
  type: string;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string; legendFormat: string }[];
}

export function readDashboard(): {
  title: string;
  uid: string;
  panels: DashboardPanel[];
  templating: { list: { name: string; query: unknown }[] };
} {
  return JSON.parse(readFileSync(DASHBOARD_FILE, 'utf8'));
}

/** Expressions of the dashboard: of its panels, and of its variables, which are queries, too. */
export function dashboardExpressions(): string[] {
  const { panels, templating } = readDashboard();
  return [
    ...panels.flatMap(({ targets }) => (targets ?? []).map(({ expr }) => expr)),
    ...templating.list.map(({ query }) => JSON.stringify(query)),
  ];
}

/** Names of the alerts, in the order of the file. */
export function alertNames(): string[] {
  return [...readFileSync(ALERTS_FILE, 'utf8').matchAll(/^ +- alert: (\w+)$/gm)].map((match) => match[1]);
}

/** The metrics that a text of PromQL names. */
export function metricsNamedIn(text: string): Set<string> {
  // Text in quotes is a label's value; grouping and matching by labels name no metric.
  const bare = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
  return new Set(bare.match(METRIC_NAME) ?? []);
}

/** The same, of expressions kept as JSON, whose quotes are escaped. */
export function metricsOfMonitoring(): { alerts: Set<string>; dashboard: Set<string> } {
  const rules = readFileSync(ALERTS_FILE, 'utf8')
    .split('\n')
    .filter((line) => !/^\s*(?:#|summary|description|runbook|- alert|- name)/.test(line))
    .join('\n');
  const dashboard = new Set(dashboardExpressions().flatMap((expression) => [...(expression.match(METRIC_NAME) ?? [])]));
  return { alerts: metricsNamedIn(rules), dashboard };
}

/** Whether a text of metrics has the series `name`: a sample of it, or a histogram whose series it is. */
export function exports(text: string, name: string): boolean {
  if (!SERIES_SUFFIX.test(name)) return new RegExp(`^${name}[ {]`, 'm').test(text);
  return (
    new RegExp(`^# TYPE ${name.replace(SERIES_SUFFIX, '')} (?:histogram|summary)$`, 'm').test(text) ||
    new RegExp(`^${name}[ {]`, 'm').test(text)
  );
}
