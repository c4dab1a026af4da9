/**
 * A request as a person would send it from elsewhere. The key or token is never in it: it comes from the environment.
 */
export interface ConsoleRequest {
  method: string;
  path: string;
  /** JSON text; empty for none. */
  body: string;
  /** Whether it is sent with a bearer token in the place of a key. */
  isByToken?: boolean;
}

export const LANGUAGES = { curl: 'curl', typescript: 'TypeScript', python: 'Python' } as const;
export type Language = keyof typeof LANGUAGES;

export function snippet(language: Language, request: ConsoleRequest, origin: string): string {
  return { curl: asCurl, typescript: asTypeScript, python: asPython }[language](request, origin);
}

function asCurl({ method, path, body, isByToken = false }: ConsoleRequest, origin: string): string {
  const words = [
    `curl -sX ${method} ${quoted(origin + path)}`,
    isByToken ? `-H "authorization: Bearer $TOKEN"` : `-H "x-api-key: $API_KEY"`,
  ];
  if (body.trim() !== '') words.push(`-H 'content-type: application/json'`, `-d ${quoted(body)}`);
  return words.join(' \\\n  ');
}

/** For a shell: nothing means anything between single quotes but the quote itself. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function asTypeScript({ method, path, body, isByToken = false }: ConsoleRequest, origin: string): string {
  const hasBody = body.trim() !== '';
  const credential = isByToken ? `authorization: 'Bearer ' + process.env.TOKEN` : `'x-api-key': process.env.API_KEY!`;
  const lines = [
    `const response = await fetch(${JSON.stringify(origin + path)}, {`,
    `  method: ${JSON.stringify(method)},`,
    `  headers: { ${credential}${hasBody ? `, 'content-type': 'application/json'` : ''} },`,
    ...(hasBody ? [`  body: JSON.stringify(${indented(body, '  ')}),`] : []),
    `});`,
    `const { status, data, error } = await response.json();`,
    `if (status === 'error') throw new Error(\`\${error.code}: \${error.message}\`);`,
    `console.log(data);`,
  ];
  return lines.join('\n');
}

function asPython({ method, path, body, isByToken = false }: ConsoleRequest, origin: string): string {
  const lines = ['import json, os, urllib.request', ''];
  if (body.trim() !== '') lines.push(`body = json.loads(${pythonText(body)})`);
  const data = body.trim() === '' ? '' : 'data=json.dumps(body).encode(), ';
  lines.push(
    `request = urllib.request.Request(${JSON.stringify(origin + path)}, ${data}method=${JSON.stringify(method)}, headers={`,
    `    ${isByToken ? '"authorization": "Bearer " + os.environ["TOKEN"]' : '"x-api-key": os.environ["API_KEY"]'}, "content-type": "application/json"})`,
    'answer = json.load(urllib.request.urlopen(request))',
    'if answer["status"] == "error":',
    '    raise RuntimeError(answer["error"])',
    'print(answer["data"])',
  );
  return lines.join('\n');
}

/** A JSON text is a Python text too: the escapes of both are alike. */
function pythonText(body: string): string {
  return JSON.stringify(body);
}

function indented(text: string, by: string): string {
  return text.trim().split('\n').join(`\n${by}`);
}
