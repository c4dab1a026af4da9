import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { S3_KEY } from './tiny-s3';

/** How long credentials are valid that it gives. */
const LASTS_MS = 3_600_000;

/**
 * Whoever gives temporary credentials away in a cloud, in one server on this machine: STS, which takes web identities;
 * the endpoint of a container's role; and the metadata of an EC2 instance, with its sessions. Each answer has a session
 * token of its own, `session-1` and so on.
 */
export class CredentialServer {
  readonly requests: { method: string; path: string; headers: IncomingMessage['headers']; body: string }[] = [];
  /** How many credentials it gave. */
  given = 0;
  /** What it answers instead. */
  fault: number | null = null;
  /** What STS refuses with. */
  refusal = 'AccessDenied';
  /** It takes questions, and never answers. */
  isSilent = false;
  lastsMs = LASTS_MS;
  /** What a caller must show: of a container's role, and of an identity. */
  readonly containerToken = 'token-of-the-pod';
  readonly identityToken = 'signed.identity.token';

  private constructor(private readonly server: Server) {}

  static async start(): Promise<CredentialServer> {
    const server = createServer();
    const credentials = new CredentialServer(server);
    server.on('request', (request, answer) => void credentials.answer(request, answer));
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    return credentials;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  private async answer(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { method = '', url: path = '', headers } = request;
    this.requests.push({ method, path, headers, body });
    if (this.isSilent) return;
    if (this.fault !== null) return void answer.writeHead(this.fault).end();
    if (path === '/pod')
      return headers.authorization === this.containerToken ? this.giveJson(answer) : void answer.writeHead(401).end();
    if (path.startsWith('/latest/')) return this.instance(method, path, headers, answer);
    if (method === 'POST' && path === '/') return this.assume(new URLSearchParams(body), answer);
    answer.writeHead(404).end();
  }

  /** Version 2 of the metadata: nothing without a session. */
  private instance(method: string, path: string, headers: IncomingMessage['headers'], answer: ServerResponse): void {
    if (path === '/latest/api/token')
      return void (method === 'PUT' ? answer.end('imds-session') : answer.writeHead(405).end());
    if (headers['x-aws-ec2-metadata-token'] !== 'imds-session') return void answer.writeHead(401).end();
    if (path === '/latest/meta-data/iam/security-credentials/') return void answer.end('role-of-the-instance');
    if (path === '/latest/meta-data/iam/security-credentials/role-of-the-instance') return this.giveJson(answer);
    answer.writeHead(404).end();
  }

  private giveJson(answer: ServerResponse): void {
    const { id, secret, token, expires } = this.next();
    answer.writeHead(200, { 'content-type': 'application/json' });
    answer.end(
      JSON.stringify({
        Code: 'Success',
        Type: 'AWS-HMAC',
        AccessKeyId: id,
        SecretAccessKey: secret,
        Token: token,
        Expiration: expires,
      }),
    );
  }

  private assume(form: URLSearchParams, answer: ServerResponse): void {
    if (form.get('Action') !== 'AssumeRoleWithWebIdentity' || form.get('WebIdentityToken') !== this.identityToken) {
      answer.writeHead(this.refusal === 'AccessDenied' ? 403 : 400, { 'content-type': 'text/xml' });
      return void answer.end(
        `<ErrorResponse><Error><Type>Sender</Type><Code>${this.refusal}</Code><Message>no</Message></Error><RequestId>r</RequestId></ErrorResponse>`,
      );
    }
    const { id, secret, token, expires } = this.next();
    const credentials = `<Credentials><AccessKeyId>${id}</AccessKeyId><SecretAccessKey>${secret}</SecretAccessKey><SessionToken>${token}</SessionToken><Expiration>${expires}</Expiration></Credentials>`;
    const user = `<AssumedRoleUser><AssumedRoleId>a:b</AssumedRoleId><Arn>${form.get('RoleArn')}</Arn></AssumedRoleUser>`;
    answer.writeHead(200, { 'content-type': 'text/xml' });
    answer.end(
      `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>${credentials}${user}</AssumeRoleWithWebIdentityResult><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></AssumeRoleWithWebIdentityResponse>`,
    );
  }

  private next(): { id: string; secret: string; token: string; expires: string } {
    this.given += 1;
    return {
      id: S3_KEY.id,
      secret: S3_KEY.secret,
      token: `session-${this.given}`,
      expires: new Date(Date.now() + this.lastsMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    };
  }
}
