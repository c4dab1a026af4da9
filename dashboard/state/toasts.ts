import { signal } from '@preact/signals';

export interface Toast {
  id: number;
  text: string;
  isBad: boolean;
  action: { label: string; run: () => void } | null;
}

/** Long enough to read two lines and to reach for the button. */
const SHOWN_MS = 9000;
/** More would hide the page. */
const TOASTS_MAX = 4;

export const toasts = signal<Toast[]>([]);
let nextId = 1;

export function tell(text: string, options: { isBad?: boolean; action?: Toast['action'] } = {}): void {
  const toast = { id: nextId++, text, isBad: options.isBad ?? false, action: options.action ?? null };
  toasts.value = [...toasts.value, toast].slice(-TOASTS_MAX);
  setTimeout(() => dismiss(toast.id), SHOWN_MS);
}

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}
