import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog } from './dialog';
import { Failure } from './notice';

interface DialogFormProps {
  title: string;
  children: ComponentChildren;
  /** What the button says: what will be done, never "OK". */
  verb: string;
  isDanger?: boolean;
  isReady?: boolean;
  /** What is done; its failure is shown and the dialog stays. Closing it is left to this. */
  run: () => Promise<void>;
  onClose: () => void;
}

/** A dialog that does something with what it was given, once at a time, or is left. */
export function DialogForm({ title, children, verb, isDanger = false, isReady = true, run, onClose }: DialogFormProps) {
  const [failure, setFailure] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    try {
      await run();
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <h2>{title}</h2>
        {children}
        <Failure error={failure} />
        <div class="row end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={`primary ${isDanger ? 'danger' : ''}`} disabled={isBusy || !isReady}>
            {verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
