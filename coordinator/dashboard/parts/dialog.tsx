import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** A modal dialog, open as long as it is there. The browser keeps the focus inside and gives it back; Escape closes. */
export function Dialog({ title, isWide = false, onClose, children }: { title: string; isWide?: boolean; onClose: () => void; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={element} class={isWide ? 'wide' : ''} aria-label={title} onClose={onClose}>
      {children}
    </dialog>
  );
}
