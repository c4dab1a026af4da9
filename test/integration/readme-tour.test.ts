import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { EmbeddedProcess, type Envelope } from '../support/embedded-process';
import { blocksOf, envelopesOf, PageShell } from '../support/page-shell';

/** The README is run as it stands: its commands in order, in one shell, against a real process. */

const blocks = blocksOf(readFileSync(resolve(__dirname, '../../README.md'), 'utf8')).filter(({ language }) => language === 'sh');

/** The tour is for machines with curl and Debian's licences; a bare one may have neither. */
const tourTest = spawnSync('curl', ['--version']).status === 0 && existsSync('/usr/share/common-licenses/GPL-3') ? test : test.skip;

describe('the README', () => {
  tourTest('leads through a tour that works word for word', async () => {
    expect(blocks).toHaveLength(11);
    const server = new EmbeddedProcess();
    await server.start();
    const shell = new PageShell({ QUIVER: server.baseUrl, API_KEY: server.apiKey });
    try {
      const answers: Envelope[][] = [];
      for (const block of blocks) answers.push(envelopesOf(await shell.run(block)));
      const data = answers.map((block) => block.map((envelope) => envelope.data));

      expect(data[0]).toEqual([expect.objectContaining({ status: 'ok', total_collections: 0 })]);
      expect(data[1][0]).toMatchObject({ name: 'colours', dim: 4, distance_metric: 'cosine', vector_count: 0 });
      expect(data[1][1].results).toHaveLength(4);
      expect(data[2].map((found) => found.results.map((hit: { external_id: string }) => hit.external_id))).toEqual([
        ['crimson', 'scarlet'],
        ['navy', 'teal'],
      ]);
      expect(data[3][0].results).toEqual([expect.objectContaining({ external_id: 'scarlet' })]);
      expect(data[3][1].similarity).toBeGreaterThan(0.8);
      expect(data[4][0]).toMatchObject({ external_id: 'teal', version: expect.any(Number) });
      expect(data[4][1]).toMatchObject({ updated_count: 2 });
      expect(answers[4][2]).toMatchObject({ status: 'error', error: { code: 409, conflicts: [{ external_id: 'navy' }] } });
      expect(data[5][1].chunks_created).toBeGreaterThan(50);
      expect(data[5][2].results[0].text).toMatch(/warranty/i);
      expect(data[6][0].results).toHaveLength(2);
      expect(data[6][0].results[0].metadata.text).toMatch(/patent/i);
      expect(data[6][0].results[0]).toHaveProperty('keyword_rank');
      expect(data[7][0]).toMatchObject({ size: 20, population: data[5][1].chunks_created, projection: { dimensions: 2, explained_variance: [expect.any(Number), expect.any(Number)] } });
      expect(data[8]).toEqual([{ deleted_count: data[5][1].chunks_created }]);
      expect(answers[9]).toEqual([expect.objectContaining({ status: 'error', error: expect.objectContaining({ code: 403 }) })]);
      expect(data[10].map((answer) => answer.deleted)).toEqual(['navy', 'colours', 'licences']);
    } finally {
      shell.close();
      await server.destroy();
    }
  });
});
