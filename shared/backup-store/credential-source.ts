/** What requests to a store are signed with. */
export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
}

/** `now`, or, where that is the same again, `before`: what was made for that serves on. */
export function keptCredentials(before: S3Credentials | null, now: S3Credentials): S3Credentials {
  const isSame =
    before !== null &&
    before.accessKeyId === now.accessKeyId &&
    before.secretAccessKey === now.secretAccessKey &&
    before.sessionToken === now.sessionToken;
  return isSame ? before : now;
}

/** Where credentials come from. */
export interface CredentialSource {
  /** Those of now: the same object until there are others. Errors: storage_failed when there are none; unavailable. */
  current(): Promise<S3Credentials>;
  /**
   * The store has refused those of now. Answers others, where there are some by now; else the same. Errors: as above.
   */
  renewed(): Promise<S3Credentials>;
}
