import { useState } from 'preact/hooks';
import { call, messageOf, path } from '../api/client';
import type { ApiKey, Role } from '../api/shapes';
import { dateTime } from '../parts/format';
import { PlusIcon } from '../parts/icons';
import { Busy, Failure } from '../parts/notice';
import { Question } from '../parts/question';
import { usePolling } from '../state/polling';
import { session, signIn } from '../state/session';
import { tell } from '../state/toasts';
import { CreateKey } from './create-key';
import { EditLimits } from './edit-limits';
import { limitsText } from './limit-text';
import { OperationsPanel } from './operations-panel';
import { scopesToText } from './scope-text';
import { type Secret, SecretDialog } from './secret-dialog';
import { SlowRequests } from './slow-requests';
import { UsagePanel } from './usage-panel';

const POLL_MS = 10_000;
/** The one that cannot be deleted, demoted or switched off. */
const DEFAULT_KEY = 1;
const ROLES: Role[] = ['admin', 'readwrite', 'readonly'];

export function KeysPage() {
  const keys = usePolling(
    'keys',
    POLL_MS,
    async (signal) => (await call<'get_admin_keys'>('GET', '/v1/admin/keys', { signal })).keys,
  );
  const [isCreating, setCreating] = useState(false);
  const [secret, setSecret] = useState<Secret | null>(null);
  const [asked, setAsked] = useState<{ verb: 'rotate' | 'delete'; key: ApiKey } | null>(null);
  const [limited, setLimited] = useState<ApiKey | null>(null);
  const [shownUsage, setShownUsage] = useState<ApiKey | null>(null);

  const change = async (key: ApiKey, fields: Partial<ApiKey>): Promise<void> => {
    try {
      await call<'patch_admin_keys_id'>('PATCH', path('/v1/admin/keys/', key.id), { body: fields });
      tell(`Changed ${key.name}.`);
    } catch (error) {
      tell(messageOf(error), { isBad: true });
    }
    keys.refresh();
  };

  return (
    <>
      <div class="page-head">
        <h1 tabIndex={-1}>Keys & operations</h1>
        <div class="actions">
          <button type="button" class="primary" onClick={() => setCreating(true)}>
            <PlusIcon />
            New key
          </button>
        </div>
      </div>
      {keys.data === null && keys.error === null && <Busy>Asking for the keys…</Busy>}
      {keys.data === null && <Failure error={keys.error} />}
      {keys.data !== null && (
        <section class="card" aria-label="API keys">
          <div class="table-box" tabIndex={0} role="region" aria-label="Table of keys">
            <table>
              <thead>
                <tr>
                  <th scope="col">Name</th>
                  <th scope="col">Role</th>
                  <th scope="col">Collections</th>
                  <th scope="col">Limits</th>
                  <th scope="col">State</th>
                  <th scope="col">Last used</th>
                  <th scope="col">Made</th>
                  <th scope="col">Expires</th>
                  <th scope="col">
                    <span class="visually-hidden">What may be done</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {keys.data.map((key) => (
                  <KeyRow
                    key={key.id}
                    row={key}
                    onChange={(fields) => void change(key, fields)}
                    onAsk={(verb) => setAsked({ verb, key })}
                    onUsage={() => setShownUsage(key)}
                    onLimits={() => setLimited(key)}
                  />
                ))}
              </tbody>
            </table>
          </div>
        </section>
      )}
      <UsagePanel
        of={shownUsage}
        keys={keys.data ?? []}
        onChoose={setShownUsage}
        load={(key, signal) =>
          key === null
            ? call<'get_admin_keys_usage_summary'>('GET', '/v1/admin/keys/usage/summary', { signal })
            : call<'get_admin_keys_id_usage'>('GET', path('/v1/admin/keys/', key.id, '/usage'), { signal })
        }
      />
      <SlowRequests keys={keys.data ?? []} />
      <OperationsPanel />
      {isCreating && (
        <CreateKey
          onClose={() => setCreating(false)}
          onCreated={(created) => {
            setCreating(false);
            setSecret(created);
            keys.refresh();
          }}
        />
      )}
      {secret !== null && <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
      {limited !== null && (
        <EditLimits
          of={limited}
          isFixed={limited.id === DEFAULT_KEY}
          onClose={() => setLimited(null)}
          onDone={() => {
            setLimited(null);
            tell(`Changed the limits of ${limited.name}.`);
            keys.refresh();
          }}
        />
      )}
      {asked?.verb === 'rotate' && (
        <Question
          title={`Give ${asked.key.name} a new secret?`}
          verb="Rotate"
          onClose={() => setAsked(null)}
          run={async () => {
            const own = session.value;
            const rotated = await call<'post_admin_keys_id_rotate'>(
              'POST',
              path('/v1/admin/keys/', asked.key.id, '/rotate'),
            );
            // Else this page would sign out, and nobody would ever see the secret.
            if (own !== null && own.keyId === asked.key.id) signIn({ ...own, key: rotated.key });
            setSecret({ name: rotated.name, key: rotated.key });
            keys.refresh();
          }}
        >
          <p>The old secret stops working at once: whoever uses it is refused until they have the new one.</p>
          {asked.key.id === session.value?.keyId && (
            <p>You are signed in by this key: the page goes on with the new secret.</p>
          )}
        </Question>
      )}
      {asked?.verb === 'delete' && (
        <Question
          title={`Delete ${asked.key.name}?`}
          verb="Delete key"
          onClose={() => setAsked(null)}
          run={async () => {
            await call<'delete_admin_keys_id'>('DELETE', path('/v1/admin/keys/', asked.key.id));
            tell(`Deleted the key ${asked.key.name}.`);
            keys.refresh();
          }}
        >
          <p>Whoever uses it is refused at once. To refuse it for a while, switch it off instead.</p>
        </Question>
      )}
    </>
  );
}

interface KeyRowProps {
  row: ApiKey;
  onChange: (fields: Partial<ApiKey>) => void;
  onAsk: (verb: 'rotate' | 'delete') => void;
  onUsage: () => void;
  onLimits: () => void;
}

function KeyRow({ row, onChange, onAsk, onUsage, onLimits }: KeyRowProps) {
  const isFixed = row.id === DEFAULT_KEY;
  const isExpired = row.expires_at !== null && new Date(row.expires_at) <= new Date();
  return (
    <tr>
      <th scope="row" class="break">
        {row.name}
      </th>
      <td>
        <select
          aria-label={`Role of ${row.name}`}
          value={row.role}
          disabled={isFixed}
          onChange={(event) => onChange({ role: event.currentTarget.value as Role })}
        >
          {ROLES.map((role) => (
            <option key={role} value={role}>
              {role}
            </option>
          ))}
        </select>
      </td>
      <td class="break">{row.collections === null ? 'all' : scopesToText(row.collections, row.role)}</td>
      <td class="break">{limitsText(row) || 'none'}</td>
      <td>
        {isExpired ? (
          <span class="tag bad">expired</span>
        ) : row.is_active ? (
          <span class="tag good">active</span>
        ) : (
          <span class="tag warn">off</span>
        )}
      </td>
      <td class="number-left">{dateTime(row.last_used_at)}</td>
      <td class="number-left">{dateTime(row.created_at)}</td>
      <td class="number-left">{row.expires_at === null ? 'never' : dateTime(row.expires_at)}</td>
      <td>
        <span class="row nowrap">
          <button type="button" class="tight plain" onClick={onUsage} aria-label={`Usage of ${row.name}`}>
            Usage
          </button>
          <button type="button" class="tight plain" onClick={onLimits} aria-label={`Limits of ${row.name}`}>
            Limits
          </button>
          <button type="button" class="tight plain" onClick={() => onAsk('rotate')} aria-label={`Rotate ${row.name}`}>
            Rotate
          </button>
          {!isFixed && (
            <button
              type="button"
              class="tight plain"
              onClick={() => onChange({ is_active: !row.is_active })}
              aria-label={`${row.is_active ? 'Switch off' : 'Switch on'} ${row.name}`}
            >
              {row.is_active ? 'Switch off' : 'Switch on'}
            </button>
          )}
          {!isFixed && (
            <button
              type="button"
              class="tight plain danger"
              onClick={() => onAsk('delete')}
              aria-label={`Delete ${row.name}`}
            >
              Delete
            </button>
          )}
        </span>
      </td>
    </tr>
  );
}
