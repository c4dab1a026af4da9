import type { Analyser } from '../../../shared/base/text/analyser';
import type { AnalyserName } from '../../../shared/base/text/language';
import { isScriptWithoutSpaces, segmentClassOf } from '../../../shared/base/text/segment-class';
import { markOf } from '../../../shared/base/text/term-mark';
import {
  fieldOfPath,
  haveAnalysers,
  type KeywordFields,
  TEXT_FIELD,
} from '../../../shared/contract/shard/keyword-fields';
import { analyserOf } from './own-stop-words';
import { type CollectionWords, NO_RULES, type Synonyms, synonymsOf } from './synonyms';

/** One of the analysers that a collection's keyword fields have, as queries are cut by it. */
export interface QueryAnalyser {
  /** undefined: that of the collection's language. */
  name: AnalyserName | undefined;
  /** What its terms begin with in shards. */
  mark: string;
  /** Its terms have no mark. */
  analyser: Analyser;
  synonyms: Synonyms;
}

/** Those of a collection of which some fields have one of their own. */
export interface QueryAnalysers {
  /** Of all fields, in their order. */
  all: readonly QueryAnalyser[];
  fields: KeywordFields;
  /** What cuts the words of a run without spaces where one of all has a dictionary; undefined: none has. */
  dictionary: QueryAnalyser | undefined;
  /** What cuts a path of the metadata, or the text. */
  ofPath(path: string): QueryAnalyser;
  /** By the name that conditions have. */
  named(name: AnalyserName | undefined): QueryAnalyser;
}

/** undefined: all is cut as the collection's language has it. */
export function queryAnalysersOf(collection: CollectionWords): QueryAnalysers | undefined {
  const { keywordFields: fields } = collection;
  if (fields === undefined || !haveAnalysers(fields)) return undefined;
  const known = new Map<AnalyserName | undefined, QueryAnalyser>();
  const named = (name: AnalyserName | undefined): QueryAnalyser => {
    let found = known.get(name);
    if (found === undefined) known.set(name, (found = queryAnalyser(collection, name)));
    return found;
  };
  const all = [...new Set(fields.map(({ analyser }) => analyser))].map(named);
  return {
    all,
    fields,
    dictionary: all.find(({ analyser }) => analyser.queryWords !== undefined),
    ofPath: (path) =>
      named((path === TEXT_FIELD ? fields.find((field) => field.path === path) : fieldOfPath(fields, path))?.analyser),
    named,
  };
}

function queryAnalyser(collection: CollectionWords, name: AnalyserName | undefined): QueryAnalyser {
  const { stopWords, synonyms } = collection;
  const language = name === undefined ? collection.language : name === 'unicode' ? null : name;
  const analyser = analyserOf({ language, stopWords });
  return {
    name,
    mark: name === undefined ? '' : markOf(name),
    analyser,
    synonyms: synonymsOf(synonyms ?? NO_RULES, analyser)!,
  };
}

/** Whether a term is of a script without spaces. */
export function isUnspacedTerm(bare: string): boolean {
  return isScriptWithoutSpaces(segmentClassOf(bare, 0));
}

/** A part of a text that several analysers cut. */
export interface CutSpan {
  start: number;
  end: number;
}

/** What analysers have at one place of a text, by analyser. */
export interface PlacedGroup<Item extends CutSpan> extends CutSpan {
  items: Item[][];
}

/**
 * What belongs together of the items of several analysers: those of the same place where each has one, of others those
 * that overlap. In the order of the text.
 */
export function groupsOfPlaces<Item extends CutSpan>(cuts: readonly (readonly Item[])[]): PlacedGroup<Item>[] {
  const byPlace = new Map<string, PlacedGroup<Item>>();
  for (const [i, items] of cuts.entries())
    for (const item of items) {
      const key = `${item.start} ${item.end}`;
      let group = byPlace.get(key);
      if (group === undefined)
        byPlace.set(key, (group = { start: item.start, end: item.end, items: cuts.map(() => []) }));
      group.items[i].push(item);
    }
  const isWhole = ({ items }: PlacedGroup<Item>): boolean => items.every(({ length }) => length > 0);
  const groups: PlacedGroup<Item>[] = [];
  let open: PlacedGroup<Item> | null = null;
  for (const group of [...byPlace.values()].sort((a, b) => a.start - b.start || a.end - b.end)) {
    if (isWhole(group)) groups.push(group);
    else if (open !== null && group.start < open.end) {
      open.end = Math.max(open.end, group.end);
      for (const [i, items] of group.items.entries()) open.items[i].push(...items);
    } else groups.push((open = group));
  }
  return groups.sort((a, b) => a.start - b.start || a.end - b.end);
}
