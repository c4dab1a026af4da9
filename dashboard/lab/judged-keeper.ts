import { type Edit, edited, editsOf, isKept, type JudgedQuery, sentJudged } from './judged';

/** Where judged queries of a name are kept. */
export interface JudgedStore {
  /** None where there is no such name yet. */
  read: () => Promise<JudgedQuery[]>;
  write: (judged: readonly JudgedQuery[]) => Promise<void>;
  /** There are no judgements without a query. */
  remove: () => Promise<void>;
}

/** What is shown of them. */
export interface KeptJudged {
  /** What the service has, with the changes; null: it is not there yet. */
  judged: JudgedQuery[] | null;
  /** Why it could not be read, or changes not be kept; null: it could. */
  failure: unknown;
  isSaving: boolean;
  /** Whether a change is not kept that could be. */
  isUnkept: boolean;
}

/**
 * Keeps judged queries. Each write reads them first, so that what somebody else graded meanwhile stays; of two writes
 * at once, the later one counts. What can't be stored, a query without a grade above 0, is remembered here alone.
 */
export class JudgedKeeper {
  private stored: JudgedQuery[] | null = null;
  /** Changes that the service was not told of. */
  private edits: Edit[] = [];
  /** Those that it can't store. */
  private drafts: Edit[] = [];
  private failure: unknown = null;
  private isSaving = false;

  constructor(
    private readonly store: JudgedStore,
    private readonly onChange: (shown: KeptJudged) => void,
  ) {}

  get shown(): KeptJudged {
    const { stored, drafts, edits, failure, isSaving } = this;
    return {
      judged: stored === null ? null : edited(stored, [...drafts, ...edits]),
      failure,
      isSaving,
      isUnkept: edits.length > 0,
    };
  }

  async load(): Promise<void> {
    try {
      this.stored = await this.store.read();
      this.failure = null;
    } catch (failure) {
      this.failure = failure;
    }
    this.tell();
  }

  /** Shows changes, which `save` keeps. */
  edit(edits: readonly Edit[]): void {
    this.edits = [...this.edits, ...edits];
    this.tell();
  }

  /** Keeps what is not kept, one write after the other. A failure is shown, and the changes stay. */
  async save(): Promise<void> {
    if (this.isSaving || this.edits.length === 0) return;
    this.isSaving = true;
    this.tell();
    try {
      while (this.edits.length > 0) {
        const { edits } = this;
        this.drafts = await this.keep([...this.drafts, ...edits]);
        this.edits = this.edits.slice(edits.length);
        this.failure = null;
        this.tell();
      }
    } catch (failure) {
      this.failure = failure;
    }
    this.isSaving = false;
    this.tell();
  }

  /** The changes that can't be stored. */
  private async keep(edits: readonly Edit[]): Promise<Edit[]> {
    const before = await this.store.read();
    const after = edited(before, edits);
    const kept = after.filter(isKept);
    if (JSON.stringify(sentJudged(kept)) !== JSON.stringify(sentJudged(before)))
      await (kept.length > 0 ? this.store.write(kept) : this.store.remove());
    this.stored = kept;
    return after.filter((query) => !isKept(query)).flatMap(editsOf);
  }

  private tell(): void {
    this.onChange(this.shown);
  }
}
