import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { UploadIcon } from '../parts/icons';

/** A card onto which files are dropped; `children` say what for, and offer another way. */
export function DropPlace({
  label,
  onFiles,
  children,
}: {
  label: string;
  onFiles: (files: Iterable<File>) => void;
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
        // The list is emptied after the event.
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
