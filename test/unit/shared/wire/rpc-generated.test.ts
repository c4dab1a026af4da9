import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const root = resolve(__dirname, '../../../..');

function textsUnder(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  return Object.fromEntries(files.sort().map((file) => [file, readFileSync(join(folder, file), 'utf8')]));
}

test('shared/wire/generated is what scripts/make/generate-rpc.mjs makes of proto/quiver', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-generated-'));
  try {
    execFileSync(process.execPath, [join(root, 'scripts/make/generate-rpc.mjs'), folder]);
    expect(textsUnder(join(root, 'shared/wire/generated'))).toEqual(textsUnder(folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
