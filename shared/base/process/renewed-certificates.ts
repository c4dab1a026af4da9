/** Certificates of mutual TLS, PEM. Without a client's own, `cert` and `key` are null. */
export interface Certificates {
  ca: Buffer;
  cert: Buffer | null;
  key: Buffer | null;
}

/** How gRPC is told of certificates, as its `CertificateProvider` has it. */
type CaListener = (update: { caCertificate: Buffer } | null) => void;
type IdentityListener = (update: { certificate: Buffer; privateKey: Buffer } | null) => void;

/**
 * Certificates that are replaced while the process runs, as gRPC asks for them: connections that are opened later take
 * the new ones, and those that are open go on.
 */
export class RenewedCertificates {
  private readonly caListeners = new Set<CaListener>();
  private readonly followers = new Set<(certificates: Certificates) => void>();
  private readonly identityListeners = new Set<IdentityListener>();

  constructor(private present: Certificates) {}

  renew(certificates: Certificates): void {
    this.present = certificates;
    for (const follower of this.followers) follower(certificates);
    for (const listener of this.caListeners) this.publishCa(listener);
    for (const listener of this.identityListeners) this.publishIdentity(listener);
  }

  get current(): Certificates {
    return this.present;
  }

  /** Tells the certificates of now, and from now on each change. Answers what ends that. */
  follow(follower: (certificates: Certificates) => void): () => void {
    follower(this.present);
    this.followers.add(follower);
    return () => this.followers.delete(follower);
  }

  addCaCertificateListener(listener: CaListener): void {
    this.caListeners.add(listener);
    // Not at once: gRPC's server notes only afterwards that it listens.
    process.nextTick(() => this.publishCa(listener));
  }

  removeCaCertificateListener(listener: CaListener): void {
    this.caListeners.delete(listener);
  }

  addIdentityCertificateListener(listener: IdentityListener): void {
    this.identityListeners.add(listener);
    process.nextTick(() => this.publishIdentity(listener));
  }

  removeIdentityCertificateListener(listener: IdentityListener): void {
    this.identityListeners.delete(listener);
  }

  private publishCa(listener: CaListener): void {
    if (this.caListeners.has(listener)) listener({ caCertificate: this.present.ca });
  }

  private publishIdentity(listener: IdentityListener): void {
    const { cert, key } = this.present;
    if (!this.identityListeners.has(listener)) return;
    listener(cert === null || key === null ? null : { certificate: cert, privateKey: key });
  }
}
