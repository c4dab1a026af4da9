import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { blocksOf, envelopesOf, PageShell } from '../support/http/page-shell';

/** The README is run as it stands: its commands in order, in one shell, against a real process. */

const blocks = blocksOf(readFileSync(resolve(__dirname, '../../README.md'), 'utf8')).filter(
  ({ language }) => language === 'sh',
);

/** For machines with curl; a bare one may have none. The tour that goes on from here is tested as a guide. */
const firstSearch = spawnSync('curl', ['--version']).status === 0 ? test : test.skip;

describe('the README', () => {
  firstSearch('leads to a first search word for word', async () => {
    expect(blocks).toHaveLength(2);
    const server = new EmbeddedProcess({ environment: { HTTP_THREADS: '2' } });
    await server.start();
    const shell = new PageShell({ QUIVER: server.baseUrl, API_KEY: server.apiKey });
    try {
      const [made, found] = [envelopesOf(await shell.run(blocks[0])), envelopesOf(await shell.run(blocks[1]))];
      expect(made[0].data).toMatchObject({ name: 'colours', dim: 4, distance_metric: 'cosine', vector_count: 0 });
      expect(made[1].data.results).toHaveLength(3);
      expect(found[0].data.results.map((hit: { external_id: string }) => hit.external_id)).toEqual(['crimson', 'navy']);
      expect(found[1].data).toMatchObject({ deleted: 'colours' });
    } finally {
      shell.close();
      await server.destroy();
    }
  });
});
