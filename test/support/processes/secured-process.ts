import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CertificateAuthority, replaceFile } from '../cluster/certificate-authority';
import { EmbeddedProcess } from './embedded-process';
import { SecuredClient } from '../http/secured-client';

/** Files of a certificate for the API port, by an authority of their own, and the settings that name them. */
export class ApiCertificate {
  private readonly folder = mkdtempSync(join(tmpdir(), 'quiver-certificate-'));
  /** Of the authority, PEM. */
  readonly ca: string;

  constructor() {
    const authority = new CertificateAuthority('api');
    try {
      const { cert, key } = authority.issue('api');
      replaceFile(this.path('api.pem'), cert);
      replaceFile(this.path('api.key'), key);
      this.ca = authority.pem;
    } finally {
      authority.destroy();
    }
  }

  get environment(): Record<string, string> {
    return { API_TLS_CERT_FILE: this.path('api.pem'), API_TLS_KEY_FILE: this.path('api.key') };
  }

  destroy(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private path(name: string): string {
    return join(this.folder, name);
  }
}

/** An embedded process whose API port speaks TLS, and with it HTTP/2. */
export class SecuredProcess {
  readonly certificate = new ApiCertificate();
  readonly server: EmbeddedProcess;
  private client: SecuredClient | null = null;

  constructor({ environment = {}, dataDir }: { environment?: Record<string, string>; dataDir?: string } = {}) {
    this.server = new EmbeddedProcess({
      dataDir,
      environment: { HTTP_THREADS: '2', ...environment, ...this.certificate.environment },
    });
  }

  async start(): Promise<void> {
    await this.server.start();
    this.client?.close();
    this.client = new SecuredClient({ port: this.server.port, ca: this.certificate.ca, key: this.server.apiKey });
  }

  /** One call with the admin key; answers the envelope, throws when the connection breaks. */
  async call(method: string, path: string, body?: unknown): Promise<any> {
    if (this.client === null) throw new Error('the process is not running');
    return (await this.client.call(method, path, body)).json;
  }

  /** As `call`, but an error envelope throws. */
  async data(method: string, path: string, body?: unknown): Promise<any> {
    const envelope = await this.call(method, path, body);
    if (envelope.status !== 'success') throw new Error(`${method} ${path}: ${JSON.stringify(envelope.error)}`);
    return envelope.data;
  }

  async destroy(): Promise<void> {
    this.client?.close();
    await this.server.destroy();
    this.certificate.destroy();
  }
}
