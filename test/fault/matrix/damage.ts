import { closeSync, ftruncateSync, openSync, readdirSync, readSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** What is done to a file behind the service's back, and to where of it. */
export const FORMS = [
  'missing',
  'cut to nothing',
  'cut to half',
  'cut by a byte',
  'bit at the head',
  'bit in the middle',
  'bit at the end',
] as const;
export type Form = (typeof FORMS)[number];

/** The faults of the matrix that are done to what is on the disk, and their forms. */
export const FORMS_OF = {
  missing: FORMS.slice(0, 1),
  truncated: FORMS.slice(1, 4),
  flipped: FORMS.slice(4),
} as const;
export type Damage = keyof typeof FORMS_OF;

export function damageOf(form: Form): Damage {
  return (Object.keys(FORMS_OF) as Damage[]).find((damage) => FORMS_OF[damage].includes(form)) as Damage;
}

/** Files below a folder whose paths, relative to it, match. */
export function filesLike(folder: string, like: RegExp): string[] {
  return (readdirSync(folder, { recursive: true }) as string[])
    .filter((path) => like.test(path) && statSync(join(folder, path)).isFile())
    .sort()
    .map((path) => join(folder, path));
}

/**
 * Damages a file in place, so that who has it open has the damage, too. Zeros at its end are room that is kept and not
 * content: half and middle are those of the content. Answers false where the file has too little content for this form.
 */
export function damage(path: string, form: Form): boolean {
  if (form === 'missing') {
    rmSync(path);
    return true;
  }
  const file = openSync(path, 'r+');
  try {
    const { size } = statSync(path);
    if (form === 'cut by a byte') {
      if (size === 0) return false;
      ftruncateSync(file, size - 1);
      return true;
    }
    const content = contentLength(file, size);
    if (content === 0) return false;
    if (form === 'cut to nothing') ftruncateSync(file, 0);
    else if (form === 'cut to half') ftruncateSync(file, content >> 1);
    else flip(file, { 'bit at the head': 0, 'bit in the middle': content >> 1, 'bit at the end': content - 1 }[form]);
    return true;
  } finally {
    closeSync(file);
  }
}

function flip(file: number, at: number): void {
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, at);
  byte[0] ^= 4;
  writeSync(file, byte, 0, 1, at);
}

function contentLength(file: number, size: number): number {
  const bytes = Buffer.alloc(size);
  readSync(file, bytes, 0, size, 0);
  let length = size;
  while (length > 0 && bytes[length - 1] === 0) length -= 1;
  return length;
}
