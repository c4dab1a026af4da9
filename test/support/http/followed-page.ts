import { missingModules } from '../machines/python-packages';
import { envelopesOf, type PageBlock, type PageShell } from './page-shell';

/**
 * A page that is run as it stands, its blocks in their order: a block in `json` after others is what the last answer
 * holds, one in `text` lines that are printed. Where no answer is shown, every one is a success.
 */

/** What is run, and what is compared; a block in no language is only shown. */
export const RUN_LANGUAGES = ['sh', 'js', 'python'];
export const COMPARED_LANGUAGES = ['json', 'text'];

/** A program in Python is passed over, with what it prints, where Python has not what the client needs. */
const hasPython = missingModules(['httpx', 'anyio'])?.length === 0;

function able(blocks: PageBlock[]): PageBlock[] {
  const isPassedOver = (i: number): boolean => !hasPython && blocks[i]?.language === 'python';
  return blocks.filter(
    (block, i) => !isPassedOver(i) && !(isPassedOver(i - 1) && COMPARED_LANGUAGES.includes(block.language)),
  );
}

/** Numbers of answers are compared as they are written: to three decimals. */
function expected(value: unknown): unknown {
  if (typeof value === 'number') return Number.isInteger(value) ? value : expect.closeTo(value, 3);
  if (Array.isArray(value)) return value.map(expected);
  if (typeof value !== 'object' || value === null) return value;
  return expect.objectContaining(
    Object.fromEntries(Object.entries(value).map(([key, member]) => [key, expected(member)])),
  );
}

/** Runs the blocks in a shell, and fails where something else is printed than the page shows. */
export async function followPage(blocks: PageBlock[], shell: PageShell): Promise<void> {
  let printed = '';
  const page = able(blocks);
  for (const [i, block] of page.entries()) {
    const { language, text } = block;
    if (language === 'json') {
      const wanted = JSON.parse(text) as object;
      const last = envelopesOf(printed).at(-1);
      expect('error' in wanted || 'warnings' in wanted ? last : last?.data).toEqual(expected(wanted));
    } else if (language === 'text') {
      for (const line of text.trimEnd().split('\n')) expect(printed).toContain(line);
    } else if (RUN_LANGUAGES.includes(language)) {
      printed = await shell.run(block);
      if (COMPARED_LANGUAGES.includes(page[i + 1]?.language)) continue;
      if (printed.trim().startsWith('{"status"'))
        expect(envelopesOf(printed).filter(({ status }) => status !== 'success')).toEqual([]);
    }
  }
}
