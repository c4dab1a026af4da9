import { dismiss, toasts } from '../state/toasts';
import { CloseIcon } from './icons';

/** What was done, and the way back where there is one. */
export function ToastList() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <div key={toast.id} class={`toast ${toast.isBad ? 'bad' : ''}`}>
          <span>{toast.text}</span>
          {toast.action !== null && (
            <button
              type="button"
              class="action"
              onClick={() => {
                toast.action?.run();
                dismiss(toast.id);
              }}
            >
              {toast.action.label}
            </button>
          )}
          <button type="button" class="icon" aria-label="Close message" onClick={() => dismiss(toast.id)}>
            <CloseIcon />
          </button>
        </div>
      ))}
    </div>
  );
}
