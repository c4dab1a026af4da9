import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Busy } from './notice';

/** A page whose code is fetched when somebody goes there. */
export function LazyPage<Props extends object>({
  load,
  ...props
}: { load: () => Promise<ComponentType<Props>> } & Props) {
  const [state, setState] = useState<{ Page: ComponentType<Props> | null; hasFailed: boolean }>({
    Page: null,
    hasFailed: false,
  });
  useEffect(() => {
    load().then(
      (Page) => setState({ Page, hasFailed: false }),
      () => setState({ Page: null, hasFailed: true }),
    );
  }, []);
  if (state.hasFailed) {
    return (
      <p class="notice bad" role="alert">
        This part of the page could not be loaded.
        <button type="button" onClick={() => location.reload()}>
          Load again
        </button>
      </p>
    );
  }
  const { Page } = state;
  return Page === null ? <Busy>Loading…</Busy> : <Page {...(props as unknown as Props)} />;
}
