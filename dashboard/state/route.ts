import { signal } from '@preact/signals';

/** Where the page is: the address's fragment, `#/collections/articles/search?q=rivers`. */
export interface Route {
  /** The parts of the path, decoded. */
  parts: string[];
  query: URLSearchParams;
}

export const route = signal<Route>(routeOf(location.hash));

addEventListener('hashchange', () => {
  route.value = routeOf(location.hash);
});

/** Changes the address without a step in the history: what a form holds, so that a link leads to the same. */
export function replaceQuery(query: Record<string, string | null>): void {
  const next = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== null && value !== '') next.set(name, value);
  const text = next.toString();
  const path = `#/${route.value.parts.map(encodeURIComponent).join('/')}`;
  history.replaceState(null, '', text === '' ? path : `${path}?${text}`);
  route.value = { parts: route.value.parts, query: next };
}

export function go(hash: string): void {
  location.hash = hash;
}

function routeOf(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  return { parts: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
