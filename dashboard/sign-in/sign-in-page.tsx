import { useState } from 'preact/hooks';
import { messageOf } from '../api/client';
import { Logo } from '../parts/icons';
import { signedOutBecause } from '../state/session';
import { signInByKey } from './sign-in';
import { Failure } from '../parts/notice';

export function SignInPage() {
  const [key, setKey] = useState('');
  const [failure, setFailure] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setFailure(null);
    signedOutBecause.value = null;
    try {
      await signInByKey(key.trim());
    } catch (error) {
      setFailure(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  const said = failure ?? signedOutBecause.value;
  return (
    <main class="sign-in" id="main">
      <div class="card sign-in-card">
        <form class="stack" onSubmit={(event) => void submit(event)}>
          <h1 class="brand">
            <Logo />
            Quiver
          </h1>
          <p class="quiet">
            Sign in with an API key, or with a token of an identity provider. It stays in this tab and is forgotten when
            you close it.
          </p>
          <label class="field">
            <span class="label">API key or bearer token</span>
            <input
              type="password"
              name="key"
              value={key}
              onInput={(event) => setKey(event.currentTarget.value)}
              autocomplete="off"
              spellcheck={false}
              required
              autofocus
            />
          </label>
          <Failure error={said} />
          <button type="submit" class="primary" disabled={isBusy || key.trim() === ''}>
            {isBusy ? 'Signing in…' : 'Sign in'}
          </button>
          <p class="quiet small">
            The first start of a service prints a key, and a link that signs you in. What a page may do depends on the
            role. A token is a signed JSON Web Token (eyJ…), where the service takes those; when it ends, the page asks
            for another.
          </p>
        </form>
      </div>
    </main>
  );
}
