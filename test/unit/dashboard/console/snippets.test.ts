import { execFileSync, spawnSync } from 'node:child_process';
import { snippet } from '../../../../dashboard/console/snippets';

const request = { method: 'POST', path: '/v1/query', body: `{\n  "query": "it's \\"so\\" – \\u00e9 $HOME \`x\`"\n}` };
const origin = 'http://localhost:8000';

test('curl gets the body as it stands, whatever is in it', () => {
  const command = snippet('curl', request, origin).replace('curl', 'printf "%s\\n"');
  const words = execFileSync('sh', ['-c', command], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, API_KEY: 'k' },
  });
  expect(words).toContain(request.body);
  expect(words).toContain('x-api-key: k');
  expect(words).toContain(`${origin}/v1/query`);
});

test('Python reads the same body', () => {
  const line = snippet('python', request, origin)
    .split('\n')
    .find((one) => one.startsWith('body = '));
  const { stdout, error } = spawnSync('python3', ['-c', `import json\n${line}\nprint(json.dumps(body))`], {
    encoding: 'utf8',
  });
  // A machine without Python: the text is JSON's own, whose escapes are Python's.
  expect(
    error === undefined
      ? JSON.parse(stdout)
      : JSON.parse(JSON.parse(String(line).slice('body = json.loads('.length, -1))),
  ).toEqual(JSON.parse(request.body));
});

test('TypeScript has the body as an object, and none without one', () => {
  expect(snippet('typescript', request, origin)).toContain(`body: JSON.stringify({\n    "query"`);
  expect(snippet('typescript', { ...request, method: 'GET', body: '' }, origin)).not.toContain('body');
});

test('a bearer token is sent as one', () => {
  const byToken = { ...request, isByToken: true };
  const command = snippet('curl', byToken, origin).replace('curl', 'printf "%s\\n"');
  expect(
    execFileSync('sh', ['-c', command], { encoding: 'utf8', env: { PATH: process.env.PATH, TOKEN: 't' } }),
  ).toContain('authorization: Bearer t');
  expect(snippet('typescript', byToken, origin)).toContain(
    "headers: { authorization: 'Bearer ' + process.env.TOKEN, 'content-type'",
  );
  expect(snippet('python', byToken, origin)).toContain('"authorization": "Bearer " + os.environ["TOKEN"]');
  for (const language of ['curl', 'typescript', 'python'] as const)
    expect(snippet(language, byToken, origin)).not.toMatch(/api.key/i);
});
