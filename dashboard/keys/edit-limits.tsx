import { useState } from 'preact/hooks';
import { call, path } from '../api/client';
import type { ApiKey } from '../api/shapes';
import { DialogForm } from '../parts/dialog-form';
import { bytes, count, dateTime } from '../parts/format';
import { usePolling } from '../state/polling';
import { LimitFields } from './limit-fields';
import { limitsBody, limitsOf } from './limit-text';

const POLL_MS = 10_000;

interface EditLimitsProps {
  of: ApiKey;
  isFixed: boolean;
  onClose: () => void;
  onDone: () => void;
}

/** When it expires: as it is, never, or so many days from now. */
type Expiry = 'kept' | 'never' | 'days';

/** The limits of a key, to be seen and changed. */
export function EditLimits({ of, isFixed, onClose, onDone }: EditLimitsProps) {
  const [limits, setLimits] = useState(() => limitsOf(of));
  const [expiry, setExpiry] = useState<Expiry>('kept');
  const change = async (): Promise<void> => {
    const { rate_limit_per_minute: rate, ...others } = limitsBody(limits);
    const end = expiry === 'kept' ? {} : { expires_in_days: expiry === 'never' ? null : Number(limits.days) };
    await call<'patch_admin_keys_id'>('PATCH', path('/v1/admin/keys/', of.id), {
      body: { rate_limit_per_minute: rate, ...(isFixed ? {} : { ...others, ...end }) },
    });
    onDone();
  };
  return (
    <DialogForm title={`Limits of ${of.name}`} verb="Change limits" run={change} onClose={onClose}>
      <LimitFields value={limits} onChange={setLimits} isFixed={isFixed} />
      {of.quota !== null && <QuotaUsed of={of} />}
      {!isFixed && (
        <label class="field">
          <span class="label">Expires</span>
          <select value={expiry} onChange={(event) => setExpiry(event.currentTarget.value as Expiry)}>
            <option value="kept">
              {of.expires_at === null ? 'never, as now' : `${dateTime(of.expires_at)}, as now`}
            </option>
            {of.expires_at !== null && <option value="never">never</option>}
            <option value="days">in some days</option>
          </select>
        </label>
      )}
      {expiry === 'days' && (
        <label class="field">
          <span class="label">Days from now</span>
          <input
            type="number"
            min={1}
            step={1}
            required
            value={limits.days}
            onInput={(event) => setLimits({ ...limits, days: event.currentTarget.value })}
          />
        </label>
      )}
      <p class="quiet small">What is changed is in force at once here, and within a second on other coordinators.</p>
    </DialogForm>
  );
}

function QuotaUsed({ of }: { of: ApiKey }) {
  const used = usePolling(
    `quota/${of.id}`,
    POLL_MS,
    async (signal) =>
      (await call<'get_admin_keys_id_usage'>('GET', path('/v1/admin/keys/', of.id, '/usage'), { signal })).quota_used,
  ).data;
  if (used === null) return null;
  const parts = [
    ...(used.items === null ? [] : [`${count(used.items)} ${used.items === 1 ? 'item' : 'items'}`]),
    ...(used.bytes === null ? [] : [bytes(used.bytes)]),
  ];
  return (
    <p class="quiet small">
      Written of it: {parts.join(' and ')}.{' '}
      {used.resets_at === null ? 'It does not count anew.' : `Counts anew: ${dateTime(used.resets_at)}.`}
    </p>
  );
}
