import { dateTime } from './parts/format';
import { AutoIcon, Logo, MoonIcon, SunIcon } from './parts/icons';
import { route } from './state/route';
import { isAdmin, session, type Session, signOut } from './state/session';
import { nextTheme, theme } from './state/theme';

const THEME_ICONS = { auto: AutoIcon, light: SunIcon, dark: MoonIcon };

/** What somebody is signed in by, and until when. */
function whoText({ keyId, expiresAt }: Session): string {
  const end = expiresAt ? `, until ${dateTime(expiresAt)}` : '';
  return keyId === null ? `Signed in by a bearer token${end}` : `Signed in by key ${keyId}${end}`;
}

export function TopBar() {
  const here = route.value.parts[0] ?? '';
  const ThemeIcon = THEME_ICONS[theme.value];
  const link = (section: string, text: string) => (
    <a href={`#/${section}`} aria-current={(here === 'collections' ? '' : here) === section ? 'page' : undefined}>
      {text}
    </a>
  );
  return (
    <header class="top-bar">
      <a class="brand" href="#/">
        <Logo />
        Quiver
      </a>
      <nav class="top-nav" aria-label="Pages">
        {link('', 'Collections')}
        {link('console', 'Console')}
        {link('jobs', 'Jobs')}
        {isAdmin() && link('keys', 'Keys & operations')}
      </nav>
      <div class="top-end">
        <span class="who" title={session.value === null ? undefined : whoText(session.value)}>
          {session.value?.name} · <span class="tag">{session.value?.role}</span>
        </span>
        <button
          type="button"
          class="plain icon"
          onClick={nextTheme}
          aria-label={`Colours: ${theme.value}. Change`}
          title={`Colours: ${theme.value}`}
        >
          <ThemeIcon />
        </button>
        <button type="button" class="plain" onClick={() => signOut()}>
          Sign out
        </button>
      </div>
    </header>
  );
}
