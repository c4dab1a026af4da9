import type { ComponentChildren } from 'preact';

/** Line drawings of 16 × 16, for eyes only: what is around them says the same in words. */

function Icon({ children }: { children: ComponentChildren }) {
  return (
    <svg
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {children}
    </svg>
  );
}

export const Logo = () => (
  <svg viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="8" fill="#4f46e5" />
    <g fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round">
      <path d="M8 24 22.5 9.5" />
      <path d="M15.5 8.5h8v8" />
      <path d="M8 16.5 13 11.5" opacity=".65" />
      <path d="M15.500 24 20.500 19" opacity=".65" />
    </g>
  </svg>
);

export const SunIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="2.8" />
    <path d="M8 1.500v1M8 13.500v1M1.500 8h1M13.500 8h1M3.400 3.400l.7.7M11.900 11.900l.7.7M3.400 12.600l.7-.7M11.900 4.100l.7-.7" />
  </Icon>
);
export const MoonIcon = () => (
  <Icon>
    <path d="M13.500 9.600A5.800 5.800 0 0 1 6.400 2.500a5.800 5.800 0 1 0 7.100 7.100Z" />
  </Icon>
);
export const AutoIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="5.500" />
    <path d="M8 2.500v11a5.500 5.500 0 0 0 0-11Z" fill="currentColor" />
  </Icon>
);
export const CloseIcon = () => (
  <Icon>
    <path d="m4 4 8 8M12 4l-8 8" />
  </Icon>
);
export const PlusIcon = () => (
  <Icon>
    <path d="M8 3v10M3 8h10" />
  </Icon>
);
export const SearchIcon = () => (
  <Icon>
    <circle cx="7" cy="7" r="4.500" />
    <path d="m10.500 10.500 3 3" />
  </Icon>
);
export const UploadIcon = () => (
  <Icon>
    <path d="M8 10.500v-8M4.800 5.500 8 2.300l3.200 3.200M2.500 10.500v2a1 1 0 0 0 1 1h9a1 1 0 0 0 1-1v-2" />
  </Icon>
);
