/**
 * Frequent words that carry grammar rather than meaning, as the analyser writes them: two texts that share them are not
 * about the same thing. English, with the most frequent ones of German, French and Spanish. Part of the builtin
 * model's definition: a change here changes its vectors.
 */
export const FUNCTION_WORDS: ReadonlySet<string> = new Set(
  `a about after again all also am an and any are as at be because been before being between both but by can could did do
  does doing dont down during each few for from further had has have having he her here hers him his how i if in into is
  isnt it its itself just may me might more most must my no nor not now of off on once only or other our ours out over own
  same shall she should so some such than that the their theirs them then there these they this those through to too under
  until up upon us very was we were what when where which while who whom why will with would you your yours
  der die das den dem des ein eine einen einem einer und oder aber ist sind war nicht mit von zu zum zur auf fur im als auch
  an es ich sie er wir ihr wie dass durch bei nach aus wird werden hat haben
  le la les un une des du de et ou est sont dans pour par sur pas ne que qui ce cette avec il elle nous vous ils au aux en se
  el los las una unos unas y o es son del al con por para como mas su sus lo que en se`
    .split(/\s+/)
    .filter((word) => word !== ''),
);
