import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** An authority that signs certificates for 127.0.0.1 and localhost, with files in a folder of its own. */
export class CertificateAuthority {
  private readonly folder = mkdtempSync(join(tmpdir(), 'quiver-authority-'));

  constructor(readonly name: string) {
    this.openssl(
      'req',
      '-x509',
      ...NEW_KEY,
      '-keyout',
      'ca.key',
      '-out',
      'ca.pem',
      '-subj',
      `/CN=${name}`,
      '-days',
      '1',
    );
    writeFileSync(join(this.folder, 'names'), 'subjectAltName=IP:127.0.0.1,DNS:localhost');
  }

  get pem(): string {
    return readFileSync(join(this.folder, 'ca.pem'), 'utf8');
  }

  /** A new certificate with its key, PEM. */
  issue(subject: string): { cert: string; key: string } {
    this.openssl('req', ...NEW_KEY, '-keyout', 'new.key', '-out', 'new.csr', '-subj', `/CN=${subject}`);
    this.openssl(
      'x509',
      '-req',
      '-in',
      'new.csr',
      '-CA',
      'ca.pem',
      '-CAkey',
      'ca.key',
      '-CAcreateserial',
      '-out',
      'new.pem',
      '-days',
      '1',
      '-extfile',
      'names',
    );
    return {
      cert: readFileSync(join(this.folder, 'new.pem'), 'utf8'),
      key: readFileSync(join(this.folder, 'new.key'), 'utf8'),
    };
  }

  destroy(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private openssl(...args: string[]): void {
    execFileSync('openssl', args, { cwd: this.folder, stdio: 'pipe' });
  }
}

/** Puts a content in the place of a file's at once. */
export function replaceFile(path: string, content: string): void {
  writeFileSync(`${path}.new`, content);
  renameSync(`${path}.new`, path);
}
