import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { followPage } from '../support/http/followed-page';
import { blocksOf, PageShell } from '../support/http/page-shell';
import { EmbeddedProcess } from '../support/processes/embedded-process';

/**
 * The README is run as it stands, in one shell, against a real process. What it says by other blocks is run elsewhere:
 * those in `bash` by try-command.test.ts and readme-own-data.test.ts, the program in `ts` by client-package.test.ts.
 */

const ELSEWHERE = { bash: 2, ts: 1 };
const WORDS_MAX = 1500;

const page = readFileSync(resolve(__dirname, '../../README.md'), 'utf8');
const blocks = blocksOf(page);
/** What the blocks that are run elsewhere print is compared there, too. */
const here = blocks.filter(
  ({ language }, i) =>
    !(language in ELSEWHERE) && !(language === 'text' && (blocks[i - 1]?.language ?? '') in ELSEWHERE),
);

/** For machines with curl; a bare one may have none. */
const firstSearch = spawnSync('curl', ['--version']).status === 0 ? test : test.skip;

describe('the README', () => {
  test(`has ${WORDS_MAX} words at most`, () => {
    expect(page.split(/\s+/).filter((word) => word !== '').length).toBeLessThanOrEqual(WORDS_MAX);
  });

  test('shows nothing that nobody runs', () => {
    expect(here.length).toBeGreaterThan(6);
    expect(here.filter(({ language }) => !['sh', 'json', 'text', 'python'].includes(language))).toEqual([]);
    for (const [language, count] of Object.entries(ELSEWHERE))
      expect(blocks.filter((block) => block.language === language)).toHaveLength(count);
  });

  firstSearch('leads to a first search word for word', async () => {
    const server = new EmbeddedProcess({ environment: { HTTP_THREADS: '2' } });
    await server.start();
    const shell = new PageShell({ QUIVER_URL: server.baseUrl, QUIVER_API_KEY: server.apiKey });
    try {
      await followPage(here, shell);
    } finally {
      shell.close();
      await server.destroy();
    }
  });
});
