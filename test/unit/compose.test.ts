import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { COMPACTED_MS } from '../../coordinator/jobs/documents/document-room';
import { isRole } from '../../shared/base/config/setting-readers';
import { settingsInForce } from '../../shared/base/config/settings-in-force';
import { COMPOSE_FOLDER, type ComposeService, composeText, readComposeFile } from '../support/machines/compose-file';

/** docker-compose.yaml and the files it names: against the settings, and against each other. */

const SECRETS = {
  API_KEY: 'the-api-key',
  CLUSTER_SECRET: 'the-cluster-secret',
  GRAFANA_PASSWORD: 'the-grafana-password',
};
const { services, volumes } = readComposeFile(SECRETS);
const members = Object.entries(services).filter(([, service]) => service.build !== undefined);
const others = Object.entries(services).filter(([, service]) => service.build === undefined);
const version = (JSON.parse(readFileSync(join(COMPOSE_FOLDER, 'package.json'), 'utf8')) as { version: string }).version;

function roleOf(service: ComposeService): 'coordinator' | 'node' {
  const [role] = service.command ?? [];
  if (!isRole(role) || role === 'embedded') throw new Error(`no role: ${role}`);
  return role;
}

/** What a service would run with, by variable; the image sets DATA_DIR. */
function inForce(name: string): Record<string, string> {
  const { settings } = settingsInForce(
    roleOf(services[name]),
    { DATA_DIR: '/data', ...services[name].environment },
    { cores: 2, hostName: name },
  );
  return Object.fromEntries(settings.map((setting) => [setting.name, setting.value]));
}

/** The target in its container of a file of this repository that a service mounts. */
function mountOf(service: string, path: string): string | undefined {
  return services[service].volumes?.find((volume) => volume.startsWith(`./${path}:`))?.split(':')[1];
}

function readYaml(path: string): any {
  return parse(readFileSync(join(COMPOSE_FOLDER, path), 'utf8'));
}

test.each(['docker-compose.yaml', 'helm/templates/_etcd.tpl', 'scripts/local-cluster.mjs', 'docs/operations.md'])(
  '%s: etcd forgets what is deleted as soon as what paces documents counts on that',
  (path) => {
    const said = readFileSync(join(COMPOSE_FOLDER, path), 'utf8').matchAll(/--auto-compaction-retention=(\w+)/g);
    expect(new Set([...said].map(([, span]) => span))).toEqual(new Set([`${COMPACTED_MS / 60_000}m`]));
  },
);

describe('docker-compose.yaml', () => {
  test('is a cluster of three nodes and two coordinators with etcd, Prometheus and Grafana', () => {
    expect(members.map(([name, service]) => `${name} ${roleOf(service)}`)).toEqual([
      'node-1 node',
      'node-2 node',
      'node-3 node',
      'coordinator-1 coordinator',
      'coordinator-2 coordinator',
    ]);
    expect(others.map(([name]) => name)).toEqual(['etcd', 'prometheus', 'grafana']);
  });

  test.each(members)('%s: its environment is accepted at a start, and all of it means something', (name, service) => {
    const { unread } = settingsInForce(roleOf(service), service.environment ?? {}, { cores: 2, hostName: 'container' });
    expect(unread).toEqual([]);
    const known = Object.keys(inForce(name));
    expect(Object.keys(service.environment ?? {}).filter((variable) => !known.includes(variable))).toEqual([]);
  });

  test.each(members)('%s: is reached under its own name, and keeps it', (name, service) => {
    expect(service.environment).toMatchObject({ NODE_ID: name, ADVERTISE_ADDRESS: name });
  });

  test('members know etcd by its name and port', () => {
    const { command = [] } = services.etcd;
    for (const [name] of members) {
      const url = new URL(inForce(name).ETCD_ENDPOINTS);
      expect(services).toHaveProperty(url.hostname);
      expect(command).toContain(`--advertise-client-urls=${url.origin}`);
    }
  });

  test.each(['API_KEY', 'CLUSTER_SECRET', 'GRAFANA_PASSWORD'])('asks for %s and holds none', (name) => {
    expect(() => readComposeFile({ ...SECRETS, [name]: '' })).toThrow(`${name} is the `);
    for (const line of composeText()
      .split('\n')
      .filter((text) => /^\s*\w*(?:KEY|SECRET|PASSWORD):/.test(text)))
      expect(line).toMatch(/: \$\{\w+:\?/);
  });

  test('gives each secret to those who need it and to nobody else', () => {
    const holders = (secret: string): string[] =>
      Object.entries(services).flatMap(([name, service]) => (JSON.stringify(service).includes(secret) ? [name] : []));
    expect(holders(SECRETS.API_KEY)).toEqual(
      members.filter(([, service]) => roleOf(service) === 'coordinator').map(([name]) => name),
    );
    expect(holders(SECRETS.CLUSTER_SECRET)).toEqual(members.map(([name]) => name));
    expect(holders(SECRETS.GRAFANA_PASSWORD)).toEqual(['grafana']);
  });

  test.each(members)('%s: runs as confined as the chart has it, and is given the time to stop', (name, service) => {
    expect(service).toMatchObject({
      read_only: true,
      tmpfs: ['/tmp'],
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      image: `quiver:${version}`,
    });
    expect(Number(/^(\d+)s$/.exec(service.stop_grace_period ?? '')?.[1]) * 1000).toBeGreaterThan(
      Number(inForce(name).SHUTDOWN_TIMEOUT_MS),
    );
  });

  test('publishes the API of each coordinator, on this machine only and each port once', () => {
    const published = Object.entries(services).flatMap(([name, service]) =>
      (service.ports ?? []).map((port) => ({ name, port })),
    );
    for (const { port } of published) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
    expect(new Set(published.map(({ port }) => port.split(':')[1])).size).toBe(published.length);
    for (const [name, service] of members) {
      expect(published.filter((entry) => entry.name === name).map(({ port }) => port.split(':')[2])).toEqual(
        roleOf(service) === 'coordinator' ? [inForce(name).PORT] : [],
      );
    }
  });

  test.each(Object.entries(services))(
    '%s: has a health check, a limit of memory and an image of one version',
    (_name, service) => {
      expect(service.healthcheck?.test[0]).toBe('CMD');
      expect(service.healthcheck?.test.length).toBeGreaterThan(1);
      expect(service.mem_limit).toMatch(/^\d+[gm]$/);
      expect(service.image).toMatch(/:v?\d+\.\d+\.\d+$/);
      for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
        expect(condition).toBe('service_healthy');
        expect(services[other].healthcheck).toBeDefined();
      }
    },
  );

  test.each(members)("%s: is healthy when it is ready, by the image's own check", (_name, service) => {
    const [, command, script, path] = service.healthcheck?.test ?? [];
    expect([command, path]).toEqual(['node', 'readyz']);
    expect(readFileSync(join(COMPOSE_FOLDER, 'Dockerfile'), 'utf8')).toContain(`"${script}"`);
  });

  test('each member has a volume of its own; every volume is declared and used; every mounted file is there', () => {
    const mounts = Object.entries(services).flatMap(([name, service]) =>
      (service.volumes ?? []).map((volume) => ({ name, source: volume.split(':')[0], target: volume.split(':')[1] })),
    );
    for (const [name] of members)
      expect(mounts.filter((mount) => mount.name === name)).toEqual([
        { name, source: name, target: inForce(name).DATA_DIR },
      ]);
    const named = mounts.map(({ source }) => source).filter((source) => !source.startsWith('.'));
    expect([...named].sort()).toEqual(Object.keys(volumes).sort());
    for (const { source } of mounts.filter((mount) => mount.source.startsWith('.'))) {
      expect(
        existsSync(join(COMPOSE_FOLDER, source))
          ? statSync(join(COMPOSE_FOLDER, source)).isFile()
          : `${source} is missing`,
      ).toBe(true);
    }
  });
});

describe('what it gives Prometheus and Grafana', () => {
  const prometheus = readYaml('deploy/compose/prometheus.yml');
  const targets = prometheus.scrape_configs.flatMap((job: any) =>
    job.static_configs.flatMap((group: any) =>
      group.targets.map((target: string) => ({ target, component: group.labels.app_kubernetes_io_component })),
    ),
  );

  test('Prometheus scrapes the operations port of every member, and etcd', () => {
    const expected = members.map(([name, service]) => ({
      target: `${name}:${inForce(name).OPS_PORT}`,
      component: roleOf(service) as string,
    }));
    const etcdPort = services.etcd.command?.flatMap(
      (word) => /^--listen-metrics-urls=http:\/\/0\.0\.0\.0:(\d+)$/.exec(word)?.[1] ?? [],
    )[0];
    expected.push({ target: `etcd:${etcdPort}`, component: 'etcd' });
    const byName = (a: { target: string }, b: { target: string }): number => (a.target < b.target ? -1 : 1);
    expect([...targets].sort(byName)).toEqual(expected.sort(byName));
  });

  test('Prometheus reads its configuration and the alert rules of the chart where they are mounted', () => {
    expect(services.prometheus.command).toContain(
      `--config.file=${mountOf('prometheus', 'deploy/compose/prometheus.yml')}`,
    );
    expect(prometheus.rule_files).toEqual([mountOf('prometheus', 'helm/files/alerts.yaml')]);
    expect(readYaml('helm/files/alerts.yaml').groups.length).toBeGreaterThan(0);
  });

  test('Grafana asks that Prometheus, and finds the dashboard of the chart', () => {
    const [source] = readYaml('deploy/compose/grafana/datasources.yaml').datasources;
    const port = services.prometheus.ports?.[0].split(':')[2];
    expect(source).toMatchObject({ type: 'prometheus', url: `http://prometheus:${port}`, isDefault: true });
    expect(mountOf('grafana', 'deploy/compose/grafana/datasources.yaml')).toMatch(
      /^\/etc\/grafana\/provisioning\/datasources\//,
    );
    expect(mountOf('grafana', 'deploy/compose/grafana/dashboards.yaml')).toMatch(
      /^\/etc\/grafana\/provisioning\/dashboards\//,
    );
    const [provider] = readYaml('deploy/compose/grafana/dashboards.yaml').providers;
    expect(mountOf('grafana', 'helm/files/dashboard.json')).toMatch(new RegExp(`^${provider.options.path}/`));
    const dashboard = readFileSync(join(COMPOSE_FOLDER, 'helm/files/dashboard.json'), 'utf8');
    expect(JSON.parse(dashboard).panels.length).toBeGreaterThan(0);
    // A data source of a dashboard is its default, a variable, or this one.
    for (const [, uid] of dashboard.matchAll(/"datasource": *\{[^}]*"uid": *"([^"]+)"/g))
      expect(['-- Grafana --', source.uid, ...(uid.startsWith('$') ? [uid] : [])]).toContain(uid);
  });
});
