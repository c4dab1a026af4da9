import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { messageOf } from '../api/client';
import { Dialog } from './dialog';

interface QuestionProps {
  title: string;
  children: ComponentChildren;
  /** What the button says: what will be done, never "OK". */
  verb: string;
  isDanger?: boolean;
  /** Must be typed first, for what cannot be undone. */
  typed?: string;
  /** What is done; its failure is shown and the question stays. */
  run: () => Promise<void>;
  onClose: () => void;
}

/** Asks before something is done that cannot be undone. */
export function Question({ title, children, verb, isDanger = true, typed, run, onClose }: QuestionProps) {
  const [text, setText] = useState('');
  const [failure, setFailure] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      await run();
      onClose();
    } catch (error) {
      setFailure(messageOf(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <h2>{title}</h2>
        <div class="stack">{children}</div>
        {typed !== undefined && (
          <label class="field">
            <span class="label">
              Type <code>{typed}</code> to go on
            </span>
            <input value={text} onInput={(event) => setText(event.currentTarget.value)} autocomplete="off" spellcheck={false} />
          </label>
        )}
        {failure !== null && (
          <p class="notice bad" role="alert">
            {failure}
          </p>
        )}
        <div class="row end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={`primary ${isDanger ? 'danger' : ''}`} disabled={isBusy || (typed !== undefined && text !== typed)}>
            {verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
