const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
/** Shorter words are seldom written wrong, and mean little. */
const LETTERS_MIN = 4;

/**
 * A text with one random edit in one of its words of four and more letters: a letter too many, too few, another one, or
 * two in the wrong order. A text without such a word stays as it is. `random`: uniform numbers in [0, 1).
 */
export function withTypo(text, random) {
  const words = [...text.matchAll(/[A-Za-z]+/g)].filter(([word]) => word.length >= LETTERS_MIN);
  if (words.length === 0) return text;
  const under = (count) => Math.floor(random() * count);
  const { 0: word, index } = words[under(words.length)];
  const letter = LETTERS[under(LETTERS.length)];
  const at = under(word.length);
  const before = Math.min(at, word.length - 2);
  const edited = [
    () => word.slice(0, at) + letter + word.slice(at),
    () => word.slice(0, at) + word.slice(at + 1),
    () => word.slice(0, at) + letter + word.slice(at + 1),
    () => word.slice(0, before) + word[before + 1] + word[before] + word.slice(before + 2),
  ][under(4)]();
  return text.slice(0, index) + edited + text.slice(index + word.length);
}
