import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type AdminCall, takeBackup } from '../support/targets/backup-calls';
import { API_KEY, ClusterProcesses } from '../support/processes/cluster-processes';
import { S3_KEY, TinyS3 } from '../support/servers/tiny-s3';

/** The commands of a section of docs/operations.md, as they stand there. */
function commandsOf(title: string): string {
  const page = readFileSync(join(__dirname, '../../docs/operations.md'), 'utf8');
  const section = page.slice(page.indexOf(`\n## ${title}\n`)).split('\n## ')[1];
  return [...section.matchAll(/```sh\n(.*?)```/gs)].map((match) => match[1]).join('');
}

/** The steps are for machines with curl; a bare one may have none. */
const stepsTest = spawnSync('curl', ['--version']).status === 0 ? test : test.skip;

stepsTest(
  'etcd and all nodes are lost: the steps in docs/operations.md bring everything back from a bucket alone',
  async () => {
    const store = await TinyS3.start();
    const environment = {
      BACKUP_TARGET: 's3://backups/quiver',
      BACKUP_S3_ENDPOINT: store.endpoint,
      BACKUP_S3_ACCESS_KEY_ID: S3_KEY.id,
      BACKUP_S3_SECRET_ACCESS_KEY: S3_KEY.secret,
    };
    let cluster = await ClusterProcesses.start({ nodes: 2, coordinators: 1, environment });
    try {
      const call: AdminCall = (method, path, body) => cluster.data(method, path, body);
      await call('POST', '/v1/collections', { name: 'books', dim: 2, shards: 2, replicas: 2 });
      await call('POST', '/v1/collections', { name: 'films', dim: 2 });
      const items = Array.from({ length: 300 }, (_, n) => ({
        external_id: `id-${n}`,
        vector: [n, 1],
        metadata: { n },
      }));
      for (const name of ['books', 'films']) await call('POST', `/v1/collections/${name}/bulk_upsert`, { items });
      await call('POST', '/v1/admin/keys', { name: 'reader', role: 'readonly' });
      const before = await call('GET', '/v1/collections/books/export');
      await takeBackup(call);
      await cluster.destroy();

      cluster = await ClusterProcesses.start({ nodes: 2, coordinators: 1, environment });
      const { stdout } = await promisify(execFile)('bash', ['-e', '-c', commandsOf('When everything is lost')], {
        env: { PATH: process.env.PATH, QUIVER: cluster.baseUrl(), API_KEY },
      });
      expect(stdout).toContain('"state":"done"');
      expect((await call('GET', '/v1/collections/books/export')).vectors).toEqual(before.vectors);
      expect(
        (await call('GET', '/v1/collections')).collections.map(({ name, vector_count }: any) => [name, vector_count]),
      ).toEqual([
        ['books', 300],
        ['films', 300],
      ]);
      expect((await call('GET', '/v1/admin/keys')).keys.map(({ name }: any) => name)).toEqual(['default', 'reader']);
    } finally {
      await cluster.destroy();
      await store.close();
    }
  },
);
