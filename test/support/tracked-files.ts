import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(__dirname, '../..');

const GENERATED = /(?:^|\/)generated\/|(?:^|\/)_sync\/(?!__init__|runtime)|^package-lock\.json$/;
/** What such a file says of itself, where its folder does not. */
const GENERATED_HEAD = /^# Generated from the OpenAPI document/m;
const CODE = /\.(?:ts|tsx|mjs|cjs|js|py|cc|h|proto)$/;

export interface TrackedFile {
  /** From the root of the checkout. */
  path: string;
  text: string;
}

/** The code that people write: files of the checkout that git does not ignore, without those that a program writes. */
export function handWrittenCode(): TrackedFile[] {
  const listed = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'],
    { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 },
  );
  const removed = execFileSync('git', ['ls-files', '-z', '--deleted'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  }).split('\0');
  const paths = listed
    .split('\0')
    .filter((path) => CODE.test(path) && !GENERATED.test(path) && !removed.includes(path));
  return paths
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
    .filter(({ text }) => !GENERATED_HEAD.test(text));
}
