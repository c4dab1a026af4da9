import { type Analyser, defaultAnalyser } from '../../../shared/base/text/analyser';
import { analyserFor } from '../../../shared/base/text/analyser-for';
import type { AnalyserName } from '../../../shared/base/text/language';
import type { PlacedTerm } from '../../../shared/base/text/placed-terms';
import { markOf } from '../../../shared/base/text/term-mark';

/** An analyser whose terms have its mark. Queries are cut by the one within. */
class MarkedAnalyser implements Analyser {
  readonly name: string;
  readonly version: number;

  constructor(
    private readonly inner: Analyser,
    private readonly mark: string,
  ) {
    this.name = inner.name;
    this.version = inner.version;
  }

  terms(text: string): string[] {
    return this.marked(this.inner.terms(text));
  }

  *parts(text: string): Generator<string[]> {
    for (const part of this.inner.parts(text)) yield this.marked(part);
  }

  *placedParts(text: string): Generator<PlacedTerm[]> {
    for (const part of this.inner.placedParts(text))
      yield part.map((placed) => ({ ...placed, term: this.mark + placed.term }));
  }

  termsToFind(text: string): string[] {
    return this.marked(this.inner.termsToFind(text));
  }

  private marked(terms: string[]): string[] {
    return terms.map((term) => this.mark + term);
  }
}

const analysers = new Map<AnalyserName, Analyser>();

/** The analyser of this name. Errors: storage_failed for an unknown one, which a later version may have stored. */
export function analyserNamed(name: AnalyserName): Analyser {
  return name === 'unicode' ? defaultAnalyser : analyserFor(name);
}

/** The same for a field that has it as its own. There is one per process. */
export function markedAnalyser(name: AnalyserName): Analyser {
  let analyser = analysers.get(name);
  if (analyser === undefined) analysers.set(name, (analyser = new MarkedAnalyser(analyserNamed(name), markOf(name))));
  return analyser;
}
