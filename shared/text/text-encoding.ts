/** How a string is kept and sent as bytes: UTF-8, but for strings with lone surrogates, which only UTF-16 can carry. */
export type TextEncoding = 'utf8' | 'utf16le';

export function encodingOf(text: string): TextEncoding {
  return text.isWellFormed() ? 'utf8' : 'utf16le';
}
