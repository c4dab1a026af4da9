import { useEffect, useRef, useState } from 'preact/hooks';
import { call, isReachable, messageOf } from './api/client';
import { CollectionPage } from './collection/collection-page';
import { LazyPage } from './parts/lazy-page';
import { ToastList } from './parts/toast-list';
import { HomePage } from './home/home-page';
import { SignInPage } from './sign-in/sign-in-page';
import { redeemLink, tokenInAddress } from './sign-in/sign-in';
import { JobsPage } from './jobs/jobs-page';
import { KeysPage } from './keys/keys-page';
import { route } from './state/route';
import { isAdmin, session, signedOutBecause } from './state/session';
import { TopBar } from './top-bar';

/** How often the page looks whether a server that went away is back, and whether one that nobody asks is there. */
const AWAY_CHECK_MS = 2000;
const IDLE_CHECK_MS = 4000;
const CHECK_DEADLINE_MS = 3000;

export function App() {
  const [isRedeeming, setRedeeming] = useState(tokenInAddress() !== null);
  useEffect(() => {
    const redeem = (): void => {
      if (tokenInAddress() === null) return;
      setRedeeming(true);
      redeemLink()
        .catch((error: unknown) => (signedOutBecause.value = messageOf(error)))
        .finally(() => setRedeeming(false));
    };
    redeem();
    addEventListener('hashchange', redeem);
    return () => removeEventListener('hashchange', redeem);
  }, []);
  useHeartbeat();
  useTitle();
  useFocusOnPage();

  if (isRedeeming) return <p class="empty">Signing in…</p>;
  return (
    <div class="shell">
      {session.value === null ? (
        <>
          <AwayBanner />
          <SignInPage />
        </>
      ) : (
        <>
          <a
            class="skip-link"
            href="#main"
            onClick={(event) => {
              event.preventDefault();
              document.getElementById('main')?.focus();
            }}
          >
            Skip to the content
          </a>
          <TopBar />
          <AwayBanner />
          <main class="main" id="main" tabIndex={-1}>
            <Page />
          </main>
        </>
      )}
      <ToastList />
    </div>
  );
}

function Page() {
  const [first, ...rest] = route.value.parts;
  if (first === undefined) return <HomePage />;
  if (first === 'collections' && rest[0] !== undefined)
    return <CollectionPage key={rest[0]} name={rest[0]} tab={rest[1] ?? 'search'} />;
  if (first === 'console')
    return <LazyPage load={() => import('./console/console-page').then(({ ConsolePage }) => ConsolePage)} />;
  if (first === 'jobs') return <JobsPage />;
  if (first === 'keys' && isAdmin()) return <KeysPage />;
  return (
    <section class="card empty">
      <h1>There is nothing here</h1>
      <p>This address names no page, or one that your key's role does not reach.</p>
      <a href="#/">To the collections</a>
    </section>
  );
}

function AwayBanner() {
  if (isReachable.value) return <div role="status" />;
  return (
    <div class="notice bad banner" role="alert">
      <span class="spinner" />
      The server cannot be reached. This page goes on by itself when it is back.
    </div>
  );
}

/** Asks for the one answer that needs no key, so that it costs nothing of the key's limit. */
function useHeartbeat(): void {
  const isAway = !isReachable.value;
  useEffect(() => {
    const check = (): void => {
      if (!document.hidden)
        call<'get'>('GET', '/', { key: null, deadlineMs: CHECK_DEADLINE_MS }).catch(() => undefined);
    };
    const timer = setInterval(check, isAway ? AWAY_CHECK_MS : IDLE_CHECK_MS);
    return () => clearInterval(timer);
  }, [isAway]);
}

/** Who goes to another page by the keyboard begins at its top, and a screen reader reads it. */
function useFocusOnPage(): void {
  const page = route.value.parts.slice(0, 2).join('/');
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) document.getElementById('main')?.focus();
    isFirst.current = false;
  }, [page]);
}

function useTitle(): void {
  const { parts } = route.value;
  const name =
    parts[0] === 'collections' ? parts[1] : { console: 'Console', jobs: 'Jobs', keys: 'Keys' }[parts[0] ?? ''];
  useEffect(() => {
    document.title = name === undefined ? 'Quiver' : `${name} – Quiver`;
  }, [name]);
}
