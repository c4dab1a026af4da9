import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { UploadIcon } from './icons';

/** A place for files: they are dropped on it, or chosen by the button among its children. */
export function DropPlace({
  label,
  onFiles,
  children,
}: {
  label: string;
  onFiles: (files: File[]) => void;
  children: ComponentChildren;
}) {
  const [isOver, setOver] = useState(false);
  return (
    <section
      class={`card drop ${isOver ? 'over' : ''}`}
      aria-label={label}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onFiles([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <span class="drop-icon">
        <UploadIcon />
      </span>
      {children}
    </section>
  );
}

/** `label`: of the button; it shows its children. `filesLabel`: of what is chosen. */
export function FileButton({
  label,
  filesLabel,
  accept,
  isPrimary = false,
  isMultiple = false,
  onFiles,
  children,
}: {
  label: string;
  filesLabel: string;
  accept: string;
  isPrimary?: boolean;
  isMultiple?: boolean;
  onFiles: (files: File[]) => void;
  children: ComponentChildren;
}) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple={isMultiple}
        accept={accept}
        class="visually-hidden"
        tabIndex={-1}
        aria-label={filesLabel}
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = '';
        }}
      />
      <button
        type="button"
        class={isPrimary ? 'primary' : 'tight'}
        aria-label={label}
        onClick={() => input.current?.click()}
      >
        {children}
      </button>
    </>
  );
}

/** A drop beside the place would leave the page for the file. */
export function useDropGuard(): void {
  useEffect(() => {
    const refuse = (event: DragEvent): void => event.preventDefault();
    addEventListener('dragover', refuse);
    addEventListener('drop', refuse);
    return () => {
      removeEventListener('dragover', refuse);
      removeEventListener('drop', refuse);
    };
  }, []);
}
