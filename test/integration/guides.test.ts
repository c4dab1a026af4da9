import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { missingModules } from '../support/machines/python-packages';
import { blocksOf, envelopesOf, type PageBlock, PageShell } from '../support/http/page-shell';

/**
 * The guides are run as they stand: the blocks of a page in order, in one shell, against a real process that all pages
 * share. A block in `json` after them is what the last answer holds, one in `text` lines that are printed. Where no
 * answer is shown, every one is a success.
 */

const FOLDER = resolve(__dirname, '../../docs/guides');
const pages = readdirSync(FOLDER).filter((name) => name.endsWith('.md'));
/** What is run, and what is compared; a block in no language is only shown. */
const RUN = ['sh', 'js', 'python'];
const COMPARED = ['json', 'text'];

/** A program in Python is passed over, with what it prints, where Python has not what the client needs. */
const hasPython = missingModules(['httpx', 'anyio'])?.length === 0;

function able(blocks: PageBlock[]): PageBlock[] {
  const isPassedOver = (i: number): boolean => !hasPython && blocks[i]?.language === 'python';
  return blocks.filter((block, i) => !isPassedOver(i) && !(isPassedOver(i - 1) && COMPARED.includes(block.language)));
}

const withCurl = spawnSync('curl', ['--version']).status === 0 ? test : test.skip;

/** Numbers of answers are compared as they are written: to three decimals. */
function expected(value: unknown): unknown {
  if (typeof value === 'number') return Number.isInteger(value) ? value : expect.closeTo(value, 3);
  if (Array.isArray(value)) return value.map(expected);
  if (typeof value !== 'object' || value === null) return value;
  return expect.objectContaining(
    Object.fromEntries(Object.entries(value).map(([key, member]) => [key, expected(member)])),
  );
}

async function follow(blocks: PageBlock[], shell: PageShell): Promise<void> {
  let printed = '';
  for (const [i, block] of blocks.entries()) {
    const { language, text } = block;
    if (language === 'json') {
      const wanted = JSON.parse(text) as object;
      const last = envelopesOf(printed).at(-1);
      expect('error' in wanted || 'warnings' in wanted ? last : last?.data).toEqual(expected(wanted));
    } else if (language === 'text') {
      for (const line of text.trimEnd().split('\n')) expect(printed).toContain(line);
    } else if (RUN.includes(language)) {
      printed = await shell.run(block);
      if (COMPARED.includes(blocks[i + 1]?.language)) continue;
      if (printed.trim().startsWith('{"status"'))
        expect(envelopesOf(printed).filter(({ status }) => status !== 'success')).toEqual([]);
    }
  }
}

describe('the guides', () => {
  let server: EmbeddedProcess;

  beforeAll(async () => {
    server = new EmbeddedProcess({ environment: { MCP: 'true' } });
    await server.start();
  });
  afterAll(() => server?.destroy());

  test('are there, and have nothing in a language that nobody runs', () => {
    expect(pages.length).toBeGreaterThan(5);
    const languages = pages.flatMap((page) =>
      blocksOf(readFileSync(join(FOLDER, page), 'utf8')).map(({ language }) => language),
    );
    expect(
      [...new Set(languages)].filter((language) => ![...RUN, ...COMPARED, '', 'mermaid'].includes(language)),
    ).toEqual([]);
  });

  for (const page of pages) {
    withCurl(`${page} works word for word, and leaves nothing behind`, async () => {
      const shell = new PageShell({
        QUIVER: server.baseUrl,
        OPS: `http://127.0.0.1:${server.opsPort}`,
        API_KEY: server.apiKey,
      });
      try {
        await follow(able(blocksOf(readFileSync(join(FOLDER, page), 'utf8'))), shell);
        expect((await server.data('GET', '/v1/collections')).collections).toEqual([]);
      } finally {
        shell.close();
        for (const { name } of (await server.data('GET', '/v1/collections')).collections)
          await server.data('DELETE', `/v1/collections/${name}`);
      }
    });
  }
});
