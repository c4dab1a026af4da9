import { tell } from '../state/toasts';

export function CopyButton({ text, label, isTight = false }: { text: string; label: string; isTight?: boolean }) {
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      tell('Copied.');
    } catch {
      // Without TLS a browser gives no clipboard to a page that is not of this machine.
      tell('The browser did not let the page copy: mark the text and copy it by hand.', { isBad: true });
    }
  };
  return (
    <button type="button" class={isTight ? 'tight' : ''} onClick={() => void copy()}>
      {label}
    </button>
  );
}
