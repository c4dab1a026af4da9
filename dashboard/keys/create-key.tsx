import { useState } from 'preact/hooks';
import { call } from '../api/client';
import type { Role } from '../api/shapes';
import { DialogForm } from '../parts/dialog-form';
import { LimitFields } from './limit-fields';
import { limitsBody, NO_LIMITS } from './limit-text';
import type { Secret } from './secret-dialog';

const ROLES: Record<Role, string> = {
  readonly: 'readonly: search, list, read',
  readwrite: 'readwrite: also collections and vectors',
  admin: 'admin: everything, keys too',
};

export function CreateKey({ onClose, onCreated }: { onClose: () => void; onCreated: (secret: Secret) => void }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('readonly');
  const [limits, setLimits] = useState(NO_LIMITS);
  const create = async (): Promise<void> => {
    const body = {
      name,
      role,
      ...(limits.days === '' ? {} : { expires_in_days: Number(limits.days) }),
      ...limitsBody(limits),
    };
    const created = await call<'post_admin_keys'>('POST', '/v1/admin/keys', { body });
    onCreated({ name: created.name, key: created.key });
  };
  return (
    <DialogForm title="New key" verb="Create key" run={create} onClose={onClose}>
      <label class="field">
        <span class="label">Name</span>
        <input
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
          required
          maxLength={255}
          autocomplete="off"
        />
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
        <input
          type="number"
          min={1}
          step={1}
          value={limits.days}
          onInput={(event) => setLimits({ ...limits, days: event.currentTarget.value })}
          placeholder="never"
        />
      </label>
      <LimitFields value={limits} onChange={setLimits} />
    </DialogForm>
  );
}
