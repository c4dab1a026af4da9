import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { keyBefore, matchingFields, withKey } from './completion';
import type { BodyField } from './openapi';

const ROWS_MIN = 8;
const ROWS_MAX = 24;

/** A request's body as JSON, with suggestions for its keys: arrows choose, Tab or Enter writes, Escape closes. */
export function BodyEditor({
  body,
  fields,
  onBody,
}: {
  body: string;
  fields: BodyField[];
  onBody: (body: string) => void;
}) {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const [key, setKey] = useState<{ typed: string; from: number } | null>(null);
  const [at, setAt] = useState(0);
  const caret = useRef<number | null>(null);
  const found = key === null ? [] : matchingFields(fields, key.typed);

  // Before the next key: later, it would come at the end of the text.
  useLayoutEffect(() => {
    if (caret.current !== null) area.current?.setSelectionRange(caret.current, caret.current);
    caret.current = null;
  }, [body]);

  const write = (field: BodyField | undefined): void => {
    if (field === undefined || key === null) return;
    const next = withKey(body, key.from, area.current?.selectionStart ?? body.length, field.name);
    caret.current = next.caret;
    setKey(null);
    onBody(next.body);
  };
  const press = (event: KeyboardEvent): void => {
    if (found.length === 0 || event.ctrlKey || event.metaKey) return;
    const steps: Record<string, () => void> = {
      ArrowDown: () => setAt((at + 1) % found.length),
      ArrowUp: () => setAt((at - 1 + found.length) % found.length),
      Tab: () => write(found[at]),
      Enter: () => write(found[at]),
      Escape: () => setKey(null),
    };
    const step = steps[event.key];
    if (step === undefined || event.shiftKey) return;
    event.preventDefault();
    step();
  };
  return (
    <div class="suggesting">
      <textarea
        ref={area}
        class="code body-editor"
        rows={Math.min(ROWS_MAX, Math.max(ROWS_MIN, body.split('\n').length + 1))}
        aria-label="Body, as JSON"
        aria-autocomplete="list"
        aria-controls={`${id}-list`}
        aria-activedescendant={found.length > 0 ? `${id}-${at}` : undefined}
        value={body}
        spellcheck={false}
        placeholder={'{\n  "…": …\n}'}
        onInput={(event) => {
          onBody(event.currentTarget.value);
          setKey(keyBefore(event.currentTarget.value, event.currentTarget.selectionStart));
          setAt(0);
        }}
        onBlur={() => setKey(null)}
        onKeyDown={press}
      />
      <ul id={`${id}-list`} role="listbox" aria-label="Keys" class="suggestions card" hidden={found.length === 0}>
        {found.map((field, i) => (
          <li
            key={field.name}
            id={`${id}-${i}`}
            role="option"
            aria-selected={i === at}
            onPointerDown={(event) => {
              event.preventDefault();
              write(field);
            }}
          >
            <span class="mono">{field.name}</span> <span class="quiet small break">{field.type}</span>
            <span class="quiet small">{field.description}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
