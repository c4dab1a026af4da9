const BEGIN = '<think>';
const END = '</think>';

/**
 * Leaves out what a model thinks before it answers, where its server gives that as a part of the answer: all from a
 * leading `<think>` to `</think>`, wherever the text is cut.
 */
export class LeadingThoughts {
  private held = '';
  private state: 'before' | 'within' | 'behind' = 'before';

  /** More of what the model writes. Answers what of it is of the answer. */
  take(piece: string): string {
    if (this.state === 'behind') return piece;
    this.held += piece;
    if (this.state === 'before') {
      const begun = this.held.trimStart();
      if (begun.length < BEGIN.length && BEGIN.startsWith(begun)) return '';
      this.state = begun.startsWith(BEGIN) ? 'within' : 'behind';
    }
    if (this.state === 'behind') return this.rest();
    const end = this.held.indexOf(END);
    if (end < 0) {
      this.held = this.held.slice(-END.length);
      return '';
    }
    this.state = 'behind';
    this.held = this.held.slice(end + END.length);
    return this.rest();
  }

  /** There is no more. Answers what was held back, and is no thought. */
  end(): string {
    return this.state === 'before' ? this.rest() : '';
  }

  private rest(): string {
    const { held } = this;
    this.held = '';
    return held;
  }
}
