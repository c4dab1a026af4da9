import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** A modal dialog, open as long as it is there. The browser keeps the focus inside and gives it back; Escape closes. */
export function Dialog({
  title,
  isWide = false,
  onClose,
  children,
}: {
  title: string;
  isWide?: boolean;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const isGone = useRef(false);
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => {
      isGone.current = true;
      dialog?.close();
    };
  }, []);
  // The browser tells of a close later, when another dialog may be in this one's place.
  const close = (): void => {
    if (!isGone.current) onClose();
  };
  return (
    <dialog ref={element} class={isWide ? 'wide' : ''} aria-label={title} onClose={close}>
      {children}
    </dialog>
  );
}
