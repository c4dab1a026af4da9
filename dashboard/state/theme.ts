import { effect, signal } from '@preact/signals';

export type Theme = 'auto' | 'light' | 'dark';

const STORED = 'quiver.theme';
const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];

export const theme = signal<Theme>(THEMES.find((one) => one === localStorage.getItem(STORED)) ?? 'auto');

const system = matchMedia('(prefers-color-scheme: dark)');

/** Whether the page is dark now: what is drawn on canvases asks. */
export const isDark = signal(false);

effect(() => {
  const chosen = theme.value;
  if (chosen === 'auto') {
    localStorage.removeItem(STORED);
    delete document.documentElement.dataset['theme'];
  } else {
    localStorage.setItem(STORED, chosen);
    document.documentElement.dataset['theme'] = chosen;
  }
  isDark.value = chosen === 'auto' ? system.matches : chosen === 'dark';
});

system.addEventListener('change', () => {
  if (theme.value === 'auto') isDark.value = system.matches;
});

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'auto';
}
