import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** The version is package.json's; every other place that states it says the same. */

const root = resolve(__dirname, '../../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const manifest = JSON.parse(read('package.json')) as { version: string; dependencies: Record<string, string> };

test.each([
  ['clients/typescript/package.json', /"version": "(.*?)"/],
  ['clients/python/src/quiver_client/_version.py', /__version__ = "(.*?)"/],
  ['clients/python-haystack/pyproject.toml', /^version = "(.*?)"/m],
  ['clients/python-langchain/pyproject.toml', /^version = "(.*?)"/m],
  ['clients/python-llama-index/pyproject.toml', /^version = "(.*?)"/m],
  ['helm/Chart.yaml', /^version: (.*)$/m],
  ['helm/Chart.yaml', /^appVersion: (.*)$/m],
  ['Dockerfile', /^ARG VERSION=(.*)$/m],
  ['docker-compose.yaml', /image: quiver:(\S+)/],
  ['docs/release.md', /quiver-linux-x64-(.*?)\.tgz\n/],
  ['package-lock.json', /"version": "(.*?)"/],
])('%s has the version of package.json (%s)', (path, pattern) => {
  expect(pattern.exec(read(path))?.[1]).toBe(manifest.version);
});

test('the package of models that an error asks for is the one that is tested', () => {
  const name = `@huggingface/transformers@${manifest.dependencies['@huggingface/transformers']}`;
  expect(read('coordinator/models/transformers/loaded-model.ts')).toContain(`'${name}'`);
  expect(read('docs/release.md')).toContain(name);
});
