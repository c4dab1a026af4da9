import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Containers, missingForContainers } from '../support/machines/containers';
import { freePorts } from '../support/servers/free-ports';
import { EtcdProcess } from '../support/processes/etcd-process';
import { eventually } from '../support/eventually';
import { buildImage, dockerfileArgument, IMAGE } from '../support/machines/image-under-test';

/**
 * The image, built by its Dockerfile and run as the chart runs it. It takes minutes and fetches Debian's and npm's
 * packages, so it is run when asked for: `npm run test:image`.
 */

const missing = process.env.QUIVER_IMAGE_TEST === '1' ? missingForContainers() : ['QUIVER_IMAGE_TEST=1'];
const BUILD_DEADLINE_MS = 30 * 60_000;
const KEY = 'image-test-key';
const SECRET = 'image-test-secret';

if (missing.length > 0) {
  // oxlint-disable-next-line jest/no-disabled-tests -- its title says what is missing
  test.skip(`the image is built and run (skipped, not here: ${missing.join(', ')})`, () => {});
} else {
  describe('the image', () => {
    const containers = new Containers();
    let etcd: EtcdProcess | undefined;

    beforeAll(() => buildImage(containers), BUILD_DEADLINE_MS);
    afterAll(async () => {
      containers.destroy();
      await etcd?.destroy();
    });

    /** The image's own health check against a container, with /readyz for /livez when asked. */
    function checkHealth(name: string, path = 'livez'): { code: number; output: string } {
      const [kind, ...words] = containers.healthCheckOf(IMAGE);
      expect(kind).toBe('CMD');
      expect(words.at(-1)).toBe('livez');
      return containers.exec(name, [...words.slice(0, -1), path]);
    }

    async function ready(name: string): Promise<void> {
      await eventually(`${name} is ready`, () => checkHealth(name, 'readyz').code === 0).catch((error: Error) => {
        throw new Error(`${error.message}\n${containers.logs(name)}`);
      });
    }

    async function call(port: number, method: string, path: string, body?: unknown): Promise<any> {
      const answer = await fetch(`http://127.0.0.1:${port}/v1${path}`, {
        method,
        headers: { 'x-api-key': KEY, 'content-type': 'application/json' },
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      const envelope = (await answer.json()) as { status: string; data: any; error: unknown };
      if (envelope.status !== 'success') throw new Error(`${method} ${path}: ${JSON.stringify(envelope.error)}`);
      return envelope.data;
    }

    test('says who runs, what is kept, which ports there are, and how to ask for its health', () => {
      const config = containers.imageConfig(IMAGE);
      expect(config).toMatchObject({ User: '10001:10001', Entrypoint: ['tini', '--', 'quiver'], Cmd: ['embedded'] });
      expect(Object.keys(config.Volumes)).toEqual(['/data']);
      expect(Object.keys(config.ExposedPorts).sort()).toEqual(['7100/tcp', '8000/tcp', '9090/tcp', '9091/tcp']);
      expect(config.Labels).toMatchObject({
        'org.opencontainers.image.title': 'Quiver',
        'org.opencontainers.image.licenses': 'Apache-2.0',
        'org.opencontainers.image.version': dockerfileArgument('VERSION'),
      });
    });

    test('holds production packages and compiled code, and nothing that builds', () => {
      const { output } = containers.runToEnd(
        IMAGE,
        ['-c', 'cd /opt/quiver && find . -type f && command -v g++ gcc make python3 npm npx curl; true'],
        {},
        'sh',
      );
      const files = output.trim().split('\n');
      const lock = JSON.parse(readFileSync(resolve(__dirname, '../../package-lock.json'), 'utf8')) as {
        packages: Record<string, { dev?: boolean }>;
      };
      const packages = new Set(
        files.flatMap(
          (file) =>
            /^\.\/(node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+)\/package\.json$/.exec(file)?.[1] ?? [],
        ),
      );
      expect(packages.size).toBeGreaterThan(50);
      expect(
        [...packages].filter((name) => lock.packages[name]?.dev !== undefined || lock.packages[name] === undefined),
      ).toEqual([]);
      expect(files.filter((file) => !file.startsWith('./'))).toEqual([]);
      expect(
        files.filter((file) => !file.startsWith('./node_modules/') && !/^\.\/(?:dist|proto)\//.test(file)).sort(),
      ).toEqual([
        './coordinator/api/native/build/body-scanner.node',
        './node/engine/kv/native/build/store.node',
        './node/engine/native/build/vectors.node',
        './package.json',
        './sbom.json',
        './scripts/healthcheck.cjs',
        './scripts/load-program.cjs',
        './scripts/quiver.cjs',
        './scripts/make/sbom.mjs',
      ]);
      expect(
        files.filter((file) => /\/(?:prebuilds\/(?!linux)|onnxruntime-node\/bin\/[^/]+\/(?!linux))/.test(file)),
      ).toEqual([]);
    });

    test('loads the native code of its packages, the model runtime included', () => {
      const names = ['onnxruntime-node', '@huggingface/transformers', './node/engine/kv/native/build/store.node'];
      expect(
        containers.runToEnd(IMAGE, ['-e', `for (const name of ${JSON.stringify(names)}) require(name)`], {}, 'node'),
      ).toEqual({ code: 0, output: '' });
    });

    test('serves as one process: as a user without rights, on a read-only root; what it stored survives the container', async () => {
      const [port, opsPort] = await freePorts(2);
      const environment = { PORT: String(port), OPS_PORT: String(opsPort), API_KEY: KEY, EMBEDDING_MODEL: 'builtin' };
      const start = (): void => containers.start('embedded', IMAGE, { environment, volume: 'embedded-data' });
      start();
      await ready('embedded');
      expect(checkHealth('embedded')).toEqual({ code: 0, output: '' });
      expect(containers.exec('embedded', ['id', '-u']).output.trim()).toBe('10001');
      expect(containers.exec('embedded', ['touch', '/opt/quiver/x']).output).toContain('Read-only file system');
      expect(
        containers.exec('embedded', ['grep', '-E', '^(CapEff|CapBnd|NoNewPrivs)', '/proc/1/status']).output,
      ).toMatch(/^CapEff:\t0+\nCapBnd:\t0+\nNoNewPrivs:\t1\n$/);

      await call(port, 'POST', '/collections', { name: 'kept', dim: 2 });
      await call(port, 'POST', '/collections/kept/bulk_upsert', {
        items: [
          { external_id: 'a', vector: [1, 0] },
          { external_id: 'b', vector: [0, 1] },
        ],
      });
      expect(
        (await call(port, 'POST', '/collections/kept/search', { vector: [1, 0.1], k: 1 })).results[0].external_id,
      ).toBe('a');
      expect(containers.stop('embedded')).toBe(0);
      containers.remove('embedded');

      start();
      await ready('embedded');
      expect(
        (await call(port, 'POST', '/collections/kept/search', { vector: [0.1, 1], k: 1 })).results[0].external_id,
      ).toBe('b');
      expect(containers.stop('embedded')).toBe(0);
    });

    test('serves as coordinator and nodes of a cluster', async () => {
      etcd = await EtcdProcess.start();
      const [port, coordinatorOps, coordinatorRpc, ...nodePorts] = await freePorts(7);
      const member = (id: string, opsPort: number, rpcPort: number): Record<string, string> => ({
        ETCD_ENDPOINTS: `http://${etcd?.endpoint}`,
        CLUSTER_SECRET: SECRET,
        NODE_ID: id,
        ADVERTISE_ADDRESS: '127.0.0.1',
        OPS_PORT: String(opsPort),
        RPC_PORT: String(rpcPort),
      });
      for (const i of [0, 1]) {
        containers.start(`node-${i}`, IMAGE, {
          environment: member(`node-${i}`, nodePorts[2 * i], nodePorts[2 * i + 1]),
          volume: `node-${i}-data`,
          words: ['node'],
        });
      }
      const environment = {
        ...member('coordinator-0', coordinatorOps, coordinatorRpc),
        PORT: String(port),
        API_KEY: KEY,
        EMBEDDING_MODEL: 'builtin',
      };
      containers.start('coordinator', IMAGE, { environment, volume: 'coordinator-data', words: ['coordinator'] });
      await Promise.all(['node-0', 'node-1', 'coordinator'].map(ready));
      await eventually(
        'both nodes are members',
        async () =>
          (await call(port, 'GET', '/cluster')).nodes.filter(({ state }: { state: string }) => state === 'up')
            .length === 2,
      );

      await call(port, 'POST', '/collections', { name: 'shared', dim: 2, shards: 2, replicas: 2 });
      await call(port, 'POST', '/collections/shared/bulk_upsert', {
        items: [
          { external_id: 'a', vector: [1, 0] },
          { external_id: 'b', vector: [0, 1] },
        ],
      });
      expect(
        (await call(port, 'POST', '/collections/shared/search', { vector: [1, 0.1], k: 2 })).results.map(
          (hit: { external_id: string }) => hit.external_id,
        ),
      ).toEqual(['a', 'b']);
      expect(['coordinator', 'node-0', 'node-1'].map((name) => containers.stop(name))).toEqual([0, 0, 0]);
    });

    test('a health check fails, and says why, when nothing answers', () => {
      const { code, output } = containers.runToEnd(
        IMAGE,
        ['/opt/quiver/scripts/healthcheck.cjs'],
        { OPS_PORT: '1' },
        'node',
      );
      expect(code).toBe(1);
      expect(output).toMatch(/ECONNREFUSED 127\.0\.0\.1:1\n$/);
    });

    test('says what it would run with, secrets masked', () => {
      const { code, output } = containers.runToEnd(IMAGE, ['check-config', 'node'], {
        CLUSTER_SECRET: SECRET,
        ZONE: 'a',
      });
      expect(code).toBe(0);
      expect(output).toMatch(/^ZONE +a +environment$/m);
      expect(output).toMatch(/^DATA_DIR +\/data +environment$/m);
      expect(output).not.toContain(SECRET);
    });

    test('a bad setting ends the container with one line', () => {
      expect(containers.runToEnd(IMAGE, ['node'], { CLUSTER_SECRET: SECRET, RPC_PORT: 'tcp://10.0.0.1:7100' })).toEqual(
        {
          code: 1,
          output: 'RPC_PORT="tcp://10.0.0.1:7100" is not valid: expected an integer from 0 to 65535\n',
        },
      );
    });
  });
}
