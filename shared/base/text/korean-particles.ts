/** What nouns of Korean end with, without a space: particles, and forms of "to be" and "to do". */
const PARTICLES = new Set(
  (
    '은 는 이 가 을 를 의 에 로 와 과 도 만 나 란 에서 에게 한테 으로 부터 까지 보다 처럼 만큼 마다 조차 이나 이란 하는 하기 하고 하여 한다 나요 ' +
    '에서는 에게서 으로는 으로써 으로서 이라는 입니다 합니다 인가요'
  ).split(' '),
);
const LONGEST = 3;
/** A shorter noun has no pair, so it would not be found. */
const NOUN_MIN = 2;
const HANGUL = /^\p{Script=Hangul}+$/u;

/** How many characters of a word are before its particle, the longest one that leaves a noun; all if it has none. */
export function nounLength(word: string): number {
  if (!HANGUL.test(word)) return word.length;
  for (let length = Math.max(NOUN_MIN, word.length - LONGEST); length < word.length; length++)
    if (PARTICLES.has(word.slice(length))) return length;
  return word.length;
}
