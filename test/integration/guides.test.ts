import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { COMPARED_LANGUAGES, followPage, RUN_LANGUAGES } from '../support/http/followed-page';
import { blocksOf, PageShell } from '../support/http/page-shell';

/** The guides are run as they stand, each page in one shell, against a real process that all pages share. */

const FOLDER = resolve(__dirname, '../../docs/guides');
const pages = readdirSync(FOLDER).filter((name) => name.endsWith('.md'));
const withCurl = spawnSync('curl', ['--version']).status === 0 ? test : test.skip;

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
      [...new Set(languages)].filter(
        (language) => ![...RUN_LANGUAGES, ...COMPARED_LANGUAGES, '', 'mermaid'].includes(language),
      ),
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
        await followPage(blocksOf(readFileSync(join(FOLDER, page), 'utf8')), shell);
        expect((await server.data('GET', '/v1/collections')).collections).toEqual([]);
      } finally {
        shell.close();
        for (const { name } of (await server.data('GET', '/v1/collections')).collections)
          await server.data('DELETE', `/v1/collections/${name}`);
      }
    });
  }
});
