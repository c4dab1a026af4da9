import { useId, useState } from 'preact/hooks';
import { matchingOperations } from './completion';
import type { Operation } from './openapi';

interface PathInputProps {
  path: string;
  operations: Operation[];
  onPath: (path: string) => void;
  onChoose: (operation: Operation) => void;
}

/** The path of a request; while somebody types, the endpoints that fit (a combobox of the ARIA practices). */
export function PathInput({ path, operations, onPath, onChoose }: PathInputProps) {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const found = isOpen ? matchingOperations(operations, path) : [];
  const choose = (operation: Operation | undefined): void => {
    if (operation === undefined) return;
    onChoose(operation);
    setOpen(false);
    setAt(-1);
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') setOpen(false);
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      setOpen(true);
      if (found.length > 0) setAt((at + (event.key === 'ArrowDown' ? 1 : -1) + found.length) % found.length);
    }
    if (event.key === 'Enter' && at >= 0 && found.length > 0 && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      choose(found[at]);
    }
  };
  return (
    <div class="suggesting grow">
      <input
        class="mono"
        role="combobox"
        aria-label="Path"
        aria-expanded={found.length > 0}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={at >= 0 && found.length > 0 ? `${id}-${at}` : undefined}
        value={path}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => {
          onPath(event.currentTarget.value);
          setOpen(true);
          setAt(-1);
        }}
        onBlur={() => setOpen(false)}
        onKeyDown={key}
      />
      <ul id={`${id}-list`} role="listbox" aria-label="Endpoints" class="suggestions card" hidden={found.length === 0}>
        {found.map((operation, i) => (
          <li
            key={`${operation.method} ${operation.path}`}
            id={`${id}-${i}`}
            role="option"
            aria-selected={i === at}
            // The input would lose the focus, and the list close before the click.
            onPointerDown={(event) => {
              event.preventDefault();
              choose(operation);
            }}
          >
            <span class="tag">{operation.method}</span> <span class="mono break">{operation.path}</span>
            <span class="quiet small">{operation.summary}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
