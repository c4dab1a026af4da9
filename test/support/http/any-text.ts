import fc from 'fast-check';

/**
 * Any code point but surrogates. fast-check's own unit `binary` first makes a table of them all: a second in each file.
 */
const codePoint = fc
  .nat({ max: 0x10ffff - 0x800 })
  .map((number) => String.fromCodePoint(number < 0xd800 ? number : number + 0x800));
/** Among so many, those that mean something somewhere would hardly ever come up. */
const character = fc.oneof(codePoint, fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 1 }));

/** Well-formed texts of any characters, of up to so many. */
export function wellFormedText(lengthMax: number): fc.Arbitrary<string> {
  return fc.string({ unit: character, maxLength: lengthMax });
}

/** Texts of any code units: lone surrogates included. */
export const anyText = fc.oneof(
  wellFormedText(10),
  fc.array(fc.nat(0xffff), { maxLength: 6 }).map((units) => String.fromCharCode(...units)),
);
