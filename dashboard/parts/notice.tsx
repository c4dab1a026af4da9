import type { ComponentChildren } from 'preact';
import { messageOf } from '../api/client';

/** A failure where it happened; nothing without one. */
export function Failure({ error }: { error: unknown }) {
  if (error === null || error === undefined) return null;
  return (
    <p class="notice bad" role="alert">
      {messageOf(error)}
    </p>
  );
}

/** A line that says that something is under way. */
export function Busy({ children }: { children: ComponentChildren }) {
  return (
    <p class="row quiet" role="status">
      <span class="spinner" />
      {children}
    </p>
  );
}

/** A bar that is filled by `share`, from 0 to 1. */
export function Meter({ share, label }: { share: number; label: string }) {
  const percentage = Math.round(Math.min(1, Math.max(0, share)) * 100);
  return (
    <div
      class="meter"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percentage}
    >
      <span style={{ width: `${percentage}%` }} />
    </div>
  );
}
