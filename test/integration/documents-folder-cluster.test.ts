import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../support/eventually';
import { API_KEY, ClusterProcesses } from '../support/processes/cluster-processes';
import { CommandLine } from '../support/processes/command-line';
import { GatedProxy } from '../support/servers/gated-proxy';

/** `quiver documents add` over a cluster, as documents-folder.test.ts over one process. */

const sentences = (about: string): string =>
  Array.from({ length: 40 }, (_, i) => `Sentence ${i} about ${about} is like no other one.`).join(' ');

test('a cluster whose coordinators are all killed in the middle is waited for, and ends what it had', async () => {
  const cluster = await ClusterProcesses.start({ nodes: 2, coordinators: 2, replicas: 2 });
  const way = await GatedProxy.start(cluster.coordinators[1].port);
  const cli = new CommandLine({ QUIVER_URL: way.url, QUIVER_API_KEY: API_KEY });
  try {
    const data = async (method: string, path: string, body?: object): Promise<any> => {
      const { data: found, error } = await cluster.call(method, path, body, 1);
      if (error !== null) throw new Error(`${method} ${path}: ${error.message}`);
      return found;
    };
    await data('POST', '/v1/collections', { name: 'c', dim: 32, shards: 2, replicas: 2 });
    const names = Array.from({ length: 10 }, (_, i) => `verse-${i}.txt`);
    mkdirSync(cli.path('files'));
    for (const name of names) writeFileSync(join(cli.path('files'), name), sentences(name));
    way.stopAt = (asked, count) => (asked === 'POST /v1/documents' && count === 6 ? 'answer' : undefined);
    const run = cli.start(['documents', 'add', cli.path('files'), '--into', 'c']);
    await eventually('half of the files are sent', () => way.hasStopped);
    for (const coordinator of cluster.coordinators) await coordinator.kill();
    way.reset();
    for (const coordinator of cluster.coordinators) await coordinator.start();
    const { code, output, messages } = await run.outcome;
    expect({ code, output, messages }).toMatchObject({ code: 0, output: '10 added, 0 unchanged, 0 failed\n' });
    const { documents } = await data('GET', '/v1/collections/c/documents');
    expect(documents.map((one: any) => one.document_key).sort()).toEqual(names);
    const { jobs } = await data('GET', '/v1/jobs?kind=document&collection=c&limit=1000');
    expect(jobs.map(({ subject, state }: any) => `${subject} ${state}`).sort()).toEqual(
      names.map((name) => `${name} done`),
    );
    const chunks = documents.reduce((sum: number, one: any) => sum + one.chunks, 0);
    expect((await data('GET', '/v1/collections/c')).vector_count).toBe(chunks);
  } finally {
    cli.remove();
    await way.close();
    await cluster.destroy();
  }
});
