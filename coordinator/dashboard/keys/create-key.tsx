import { useState } from 'preact/hooks';
import { call, messageOf } from '../api/client';
import type { ApiKey, Role } from '../api/shapes';
import { Dialog } from '../parts/dialog';
import type { Secret } from './secret-dialog';

const ROLES: Record<Role, string> = { readonly: 'readonly: search, list, read', readwrite: 'readwrite: also collections and vectors', admin: 'admin: everything, keys too' };

export function CreateKey({ onClose, onCreated }: { onClose: () => void; onCreated: (secret: Secret) => void }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('readonly');
  const [days, setDays] = useState('');
  const [failure, setFailure] = useState<string | null>(null);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      const body = { name, role, ...(days === '' ? {} : { expires_in_days: Number(days) }) };
      const created = await call<ApiKey & { key: string }>('POST', '/v1/admin/keys', { body });
      onCreated({ name: created.name, key: created.key });
    } catch (error) {
      setFailure(messageOf(error));
    }
  };
  return (
    <Dialog title="New key" onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <h2>New key</h2>
        <label class="field">
          <span class="label">Name</span>
          <input value={name} onInput={(event) => setName(event.currentTarget.value)} required maxLength={255} autocomplete="off" />
          <span class="hint">Who or what will use it</span>
        </label>
        <label class="field">
          <span class="label">Role</span>
          <select value={role} onChange={(event) => setRole(event.currentTarget.value as Role)}>
            {Object.entries(ROLES).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span class="label">Expires after days</span>
          <input type="number" min={1} step={1} value={days} onInput={(event) => setDays(event.currentTarget.value)} placeholder="never" />
        </label>
        {failure !== null && (
          <p class="notice bad" role="alert">
            {failure}
          </p>
        )}
        <div class="row end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Create key
          </button>
        </div>
      </form>
    </Dialog>
  );
}
