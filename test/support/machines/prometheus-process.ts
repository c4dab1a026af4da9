import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../servers/free-ports';
import { eventually } from '../eventually';

export interface QueryResult {
  metric: Record<string, string>;
  value: number;
}

export interface AlertRule {
  name: string;
  health: string;
  state: 'inactive' | 'pending' | 'firing';
}

/** The server (Debian's package `prometheus`), from PATH or where PROMETHEUS says; null where there is none. */
export function findPrometheus(): string | null {
  const path = process.env.PROMETHEUS ?? 'prometheus';
  if (spawnSync(path, ['--version']).status === 0) return path;
  console.warn(
    'prometheus is not here: the tests that need it are skipped (Debian: apt-get install prometheus, or PROMETHEUS=/path/to/prometheus)',
  );
  return null;
}

/** A real Prometheus that scrapes and judges by rules each second. */
export class PrometheusProcess {
  private readonly folder = mkdtempSync(join(tmpdir(), 'quiver-prometheus-'));
  private output = '';
  private port = 0;
  private child: ChildProcess | null = null;

  /** Resolves when it answers. `targets`: host:port of operations ports, all in the scrape job `quiver`. */
  static async start(binary: string, options: { targets: string[]; rulesFile: string }): Promise<PrometheusProcess> {
    const prometheus = new PrometheusProcess();
    try {
      await prometheus.run(binary, options);
    } catch (error) {
      await prometheus.destroy();
      throw error;
    }
    return prometheus;
  }

  /** The present answer to an expression. */
  async query(expression: string): Promise<QueryResult[]> {
    const { result } = await this.ask<{ result: { metric: Record<string, string>; value: [number, string] }[] }>(
      `query?query=${encodeURIComponent(expression)}`,
    );
    return result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
  }

  async rules(): Promise<AlertRule[]> {
    const { groups } = await this.ask<{ groups: { rules: AlertRule[] }[] }>('rules');
    return groups.flatMap(({ rules }) => rules);
  }

  async destroy(): Promise<void> {
    const { child } = this;
    if (child !== null && child.exitCode === null && child.signalCode === null) {
      const ended = new Promise((gone) => child.once('exit', gone));
      child.kill('SIGKILL');
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async run(binary: string, { targets, rulesFile }: { targets: string[]; rulesFile: string }): Promise<void> {
    [this.port] = await freePorts(1);
    const config = join(this.folder, 'prometheus.yml');
    writeFileSync(
      config,
      JSON.stringify({
        global: { scrape_interval: '1s', evaluation_interval: '1s' },
        rule_files: [rulesFile],
        scrape_configs: [{ job_name: 'quiver', static_configs: [{ targets }] }],
      }),
    );
    const child = spawn(
      binary,
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(this.folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${this.port}`,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    this.child = child;
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (this.output += chunk));
    const killWithUs = (): void => void child.kill('SIGKILL');
    process.once('exit', killWithUs);
    child.once('exit', () => process.removeListener('exit', killWithUs));
    await eventually('prometheus answers', async () => {
      if (child.exitCode !== null) throw new Error(`prometheus ended at its start: ${this.output}`);
      return fetch(`http://127.0.0.1:${this.port}/-/ready`).then(
        (answer) => answer.ok,
        () => false,
      );
    });
  }

  private async ask<Data>(path: string): Promise<Data> {
    const answer = (await (await fetch(`http://127.0.0.1:${this.port}/api/v1/${path}`)).json()) as {
      status: string;
      data: Data;
      error?: string;
    };
    if (answer.status !== 'success') throw new Error(`${path}: ${answer.error}`);
    return answer.data;
  }
}
