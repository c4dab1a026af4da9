import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  ALERT_STORIES_FILE,
  ALERTS_FILE,
  alertNames,
  metricsOfMonitoring,
  readDashboard,
} from '../../../support/machines/monitoring-files';
import { findPromtool, runPromtool } from '../../../support/machines/promtool';

const rules = readFileSync(ALERTS_FILE, 'utf8');
const runbook = readFileSync(resolve(__dirname, '../../../../docs/operations.md'), 'utf8');
const stories = readFileSync(ALERT_STORIES_FILE, 'utf8');
const names = alertNames();

describe('the alert rules', () => {
  test('have names of their own', () => {
    expect(names.length).toBeGreaterThan(20);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^Quiver[A-Z]\w+$/.test(name))).toEqual([]);
  });

  test.each(names)('%s has a section in the runbook, a link to it and a story that lets it fire', (name) => {
    const [, section] = runbook.split(new RegExp(`^### ${name}$`, 'm'));
    expect((section ?? '').split(/^#+ /m)[0].trim().length).toBeGreaterThan(80);
    expect(rules).toContain(`runbook: docs/operations.md#${name.toLowerCase()}\n`);
    expect(stories).toContain(`alertname="${name}"`);
  });

  test('are all that the runbook speaks of, and its links lead somewhere', () => {
    expect([...runbook.matchAll(/^### (Quiver\w+)$/gm)].map((match) => match[1])).toEqual(names);
    const links = [...runbook.matchAll(/\]\(#(quiver\w+)\)/g)].map((match) => match[1]);
    expect(links.filter((link) => !names.some((name) => name.toLowerCase() === link))).toEqual([]);
  });
});

describe('the dashboard', () => {
  const { panels, title, uid } = readDashboard();

  test('has a row for each thing that is looked for', () => {
    expect([title, uid]).toEqual(['Quiver', 'quiver']);
    expect(panels.filter(({ type }) => type === 'row').map((row) => row.title)).toEqual([
      'Traffic',
      'Latency',
      'Cluster health',
      'Shards',
      'Storage',
      'Processes',
    ]);
  });

  test('has panels that ask something, under ids of their own, none on another', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(panels.filter(({ type, targets }) => type !== 'row' && !targets?.length)).toEqual([]);
    expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
    const overlapping = panels.flatMap(({ title: one, gridPos: a }, i) =>
      panels
        .slice(i + 1)
        .filter(({ gridPos: b }) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h)
        .map(({ title: other }) => [one, other]),
    );
    expect(overlapping).toEqual([]);
  });

  test('keeps clusters apart: every question is about one scrape job', () => {
    const expressions = panels.flatMap(({ targets }) => (targets ?? []).map(({ expr }) => expr));
    expect(expressions.filter((expression) => !expression.includes('job=~"$job"'))).toEqual([]);
  });

  test('and the rules name metrics', () => {
    const { alerts, dashboard } = metricsOfMonitoring();
    expect(alerts.size).toBeGreaterThan(20);
    expect(dashboard.size).toBeGreaterThan(60);
  });
});

const promtool = findPromtool();
const withPromtool = promtool === null ? describe.skip : describe;

withPromtool('promtool', () => {
  test('takes the rules without a complaint', () => {
    expect(runPromtool(promtool as string, ['check', 'rules', '--lint=all', '--lint-fatal', ALERTS_FILE])).toEqual({
      status: 0,
      said: expect.stringContaining(`${names.length} rules found`),
    });
  });

  test('sees every alert fire in its story, and no other', () => {
    expect(runPromtool(promtool as string, ['test', 'rules', ALERT_STORIES_FILE])).toEqual({
      status: 0,
      said: expect.stringContaining('SUCCESS'),
    });
  });

  test.each([
    [
      'an alert that never fires',
      'quiver_etcd_up == 0',
      'quiver_etcd_up == 2',
      'an etcd that is gone for one process and slow for others',
    ],
    ['an alert that always fires', '> 0.01', '> 0.0001', 'a healthy cluster is silent'],
  ])('tells of %s', (_what, from, to, name) => {
    // The one story that must tell of it: all of them take seconds.
    const [head, ...all] = stories.split(/^(?=  - name: )/m);
    const story = all.filter((text) => text.startsWith(`  - name: ${name}\n`));
    expect(story).toHaveLength(1);
    const folder = mkdtempSync(join(tmpdir(), 'quiver-alerts-'));
    try {
      expect(rules).toContain(from);
      writeFileSync(join(folder, 'alerts.yaml'), rules.replace(from, to));
      writeFileSync(
        join(folder, 'alerts.test.yaml'),
        (head + story[0]).replace('../../helm/files/alerts.yaml', 'alerts.yaml'),
      );
      expect(runPromtool(promtool as string, ['test', 'rules', join(folder, 'alerts.test.yaml')]).status).not.toBe(0);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('takes the expressions of the dashboard', () => {
    const folder = mkdtempSync(join(tmpdir(), 'quiver-dashboard-'));
    try {
      const expressions = readDashboard().panels.flatMap(({ targets }) =>
        (targets ?? []).map(({ expr }) => expr.replaceAll('$__rate_interval', '5m')),
      );
      const records = expressions.map(
        (expression, i) => `      - record: panel_${i}\n        expr: ${JSON.stringify(expression)}\n`,
      );
      writeFileSync(join(folder, 'panels.yaml'), `groups:\n  - name: panels\n    rules:\n${records.join('')}`);
      expect(runPromtool(promtool as string, ['check', 'rules', '--lint=none', join(folder, 'panels.yaml')])).toEqual({
        status: 0,
        said: expect.stringContaining(`${expressions.length} rules found`),
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
