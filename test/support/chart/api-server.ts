import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Manifest } from './manifest';

/**
 * As much of Kubernetes' API as Helm reads when it renders for a cluster (`--dry-run=server`): the version, what kinds
 * there are, and the objects that templates look up. It can't be written to.
 */
export class ApiServer {
  readonly kubeconfig: string;
  private readonly folder: string;
  private readonly server: Server;

  private constructor(server: Server) {
    this.server = server;
    this.folder = mkdtempSync(join(tmpdir(), 'quiver-kubeconfig-'));
    this.kubeconfig = join(this.folder, 'config.json');
    const cluster = { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster }],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      users: [{ name: 'u', user: {} }],
      'current-context': 'c',
    };
    writeFileSync(this.kubeconfig, JSON.stringify(config));
  }

  /** `kubernetes`: its version, such as 1.36.0. `objects`: what the cluster holds. */
  static async start(options: { kubernetes: string; objects: Manifest[]; namespace: string }): Promise<ApiServer> {
    const [major, minor] = options.kubernetes.split('.');
    const answers = new Map<string, unknown>([
      ['/version', { major, minor, gitVersion: `v${options.kubernetes}` }],
      ['/api', { kind: 'APIVersions', versions: ['v1'] }],
      [
        '/apis',
        { kind: 'APIGroupList', groups: [{ name: 'apps', versions: [{ groupVersion: 'apps/v1', version: 'v1' }] }] },
      ],
      ['/api/v1', resourceList('v1', [['secrets', 'Secret']])],
      [
        '/apis/apps/v1',
        resourceList('apps/v1', [
          ['deployments', 'Deployment'],
          ['statefulsets', 'StatefulSet'],
        ]),
      ],
    ]);
    for (const object of options.objects) {
      const group = object.apiVersion === 'v1' ? '/api/v1' : `/apis/${object.apiVersion}`;
      answers.set(`${group}/namespaces/${options.namespace}/${object.kind.toLowerCase()}s/${object.metadata.name}`, {
        ...object,
        metadata: { ...object.metadata, namespace: options.namespace },
      });
    }
    const server = createServer((request, response) => {
      const path = (request.url ?? '').split('?', 1)[0];
      const answer = request.method === 'GET' ? answers.get(path) : undefined;
      const notFound = {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        reason: 'NotFound',
        code: 404,
        message: `${path} not found`,
      };
      response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer ?? notFound));
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return new ApiServer(server);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function resourceList(groupVersion: string, kinds: [name: string, kind: string][]): object {
  return {
    kind: 'APIResourceList',
    groupVersion,
    resources: kinds.map(([name, kind]) => ({
      name,
      kind,
      namespaced: true,
      singularName: kind.toLowerCase(),
      verbs: ['get', 'list'],
    })),
  };
}
