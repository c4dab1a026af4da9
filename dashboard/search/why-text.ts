import type { WhyReport } from '../api/shapes';
import { type Condition, conditionLine, filterOf } from '../filters/filter-model';
import { count, plural } from '../parts/format';

type LostAt = WhyReport['lost_at'];

/** Where an item was lost, for people. */
export interface WhyWords {
  isFound: boolean;
  said: string;
  /** What would find it; null: nobody knows. */
  advice: string | null;
}

/** What is said of the search that was asked. */
interface AskedSearch {
  k: number;
  groupBy: string | null;
  rerank: string | null;
}

/** What a list of a search is called. `isText`: the search looks for a text. */
export function listName(leg: 'vector' | 'keyword', isText: boolean): string {
  return leg === 'keyword' ? 'Keywords' : isText ? 'Meaning' : 'Vectors';
}

export function whyWords(report: WhyReport, { k, groupBy, rerank }: AskedSearch): WhyWords {
  const { place, effort, conditions } = report;
  const lost = (said: string, advice: string | null = null): WhyWords => ({ isFound: false, said, advice });
  const before = place === null ? null : `Before the model read the hits, it was at place ${count(place)}.`;
  switch (report.lost_at) {
    case null:
      return { isFound: true, said: `The search finds it, at place ${count(place ?? 0)}.`, advice: null };
    case 'item':
      return lost('This collection has no item of this id.', 'Upper and lower case and blanks count.');
    case 'filter': {
      const failed = conditions.filter(({ passes }) => !passes).length;
      return lost(`The filters leave it out: it fails ${plural(failed, 'condition')}.`);
    }
    case 'rerank':
      return lost(`The model ${rerank ?? ''} puts others before it, or leaves it out.`, before);
    case 'score':
      return lost('Its score is below the least that was asked for.');
    case 'diversity':
      return lost('Hits that are less like each other are put before it.');
    case 'groups':
      return lost(`Grouping by ${groupBy ?? 'a field'} leaves it out: others are better, or it has no value there.`);
    case 'boosts':
      return lost('Boosts put others before it.');
    case 'approximation':
      return lost(
        `The approximate search misses it. An exact one has it among the best ${count(k)}.`,
        effort === null
          ? 'No effort that may be asked for finds it; "exact": true does.'
          : `With an effort of ${effort} the search finds it.`,
      );
    case 'rank':
      if (groupBy !== null) return lost(`Others are better: those of other groups, or others of its ${groupBy}.`);
      if (rerank !== null)
        return lost('The model reads the best hits, and puts others on the page.', before ?? lists(report));
      return lost(
        place === null
          ? 'Others are better.'
          : `Others are better: it is at place ${count(place)}, and the page ends at ${count(k)}.`,
        lists(report),
      );
    case 'lists':
      return lost(
        report.legs.some(({ leg }) => leg === 'keyword')
          ? 'It is in neither list: too far away by meaning, and without a word of the query.'
          : 'It is too far away: as many hits as may be asked for do not have it.',
      );
  }
}

/** Which list of a hybrid search has it farther up, where that is worth a word. */
function lists({ legs }: WhyReport): string | null {
  const [vector, keyword] = (['vector', 'keyword'] as const).map((name) => legs.find(({ leg }) => leg === name));
  if (vector === undefined || keyword === undefined) return null;
  const byMeaning = vector.exact_rank ?? Infinity;
  const byWords = keyword.exact_rank ?? Infinity;
  if (byMeaning === byWords) return null;
  return byWords < byMeaning
    ? 'By keywords it is farther up: a smaller alpha raises it.'
    : 'By meaning it is farther up: a greater alpha raises it.';
}

/** Its place in a whole list, or why it has none. */
export function exactPlaceText({ leg, exact_rank: place, score }: WhyReport['legs'][number], lostAt: LostAt): string {
  if (place !== null) return count(place);
  if (lostAt === 'filter') return 'left out by the filters';
  return leg === 'keyword' && score === null ? 'has no word of the query' : 'too far down';
}

/** A condition of a report as the page shows it among its filters; else as JSON. */
export function whyConditionText(condition: Record<string, unknown>, asked: Condition[]): string {
  const json = JSON.stringify(condition);
  const own = asked.find((one) => JSON.stringify(filterOf(one)) === json);
  return own === undefined ? json : conditionLine(own);
}

/** How many hits to ask for instead, of those that the page offers, so that a place is among them; null: none do. */
export function hitsToReach(place: number | null, choices: readonly number[]): number | null {
  return place === null ? null : (choices.find((k) => k >= place) ?? null);
}
