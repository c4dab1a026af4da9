import { CopyButton } from '../parts/copy-button';
import { Dialog } from '../parts/dialog';

export interface Secret {
  name: string;
  key: string;
}

/** The only time that a secret is seen. */
export function SecretDialog({ secret, onClose }: { secret: Secret; onClose: () => void }) {
  return (
    <Dialog title={`Secret of ${secret.name}`} onClose={onClose}>
      <div class="dialog-body">
        <h2>Secret of {secret.name}</h2>
        <p>Copy it now: it is shown this once and kept nowhere.</p>
        <p class="json secret" data-secret>
          {secret.key}
        </p>
        <div class="row end">
          <CopyButton text={secret.key} label="Copy secret" />
          <button type="button" class="primary" onClick={onClose}>
            Done
          </button>
        </div>
      </div>
    </Dialog>
  );
}
