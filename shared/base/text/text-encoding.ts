/** How a string is stored and sent: as UTF-8, or as UTF-16 if it has lone surrogates, which UTF-8 can't represent. */
export type TextEncoding = 'utf8' | 'utf16le';

export function encodingOf(text: string): TextEncoding {
  return text.isWellFormed() ? 'utf8' : 'utf16le';
}
