import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { DialogForm } from './dialog-form';

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
  const runAndClose = async (): Promise<void> => {
    await run();
    onClose();
  };
  return (
    <DialogForm
      title={title}
      verb={verb}
      isDanger={isDanger}
      isReady={typed === undefined || text === typed}
      run={runAndClose}
      onClose={onClose}
    >
      <div class="stack">{children}</div>
      {typed !== undefined && (
        <label class="field">
          <span class="label">
            Type <code>{typed}</code> to go on
          </span>
          <input
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            autocomplete="off"
            spellcheck={false}
          />
        </label>
      )}
    </DialogForm>
  );
}
