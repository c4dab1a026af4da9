import type { Clock } from '../time/clock';

/** How old an answer may be. Scrapers ask every few seconds, so two of them may get the same answer. */
const SHARED_MS = 1000;
/**
 * How many callers get one answer at the same time: as many scrapers as a process usually has. Others wait for the next
 * answer.
 */
const AT_ONCE_MAX = 8;

/** The text of one scrape, encoded once for everybody who gets it. */
export interface Scrape {
  contentType: string;
  text: Buffer;
}

/**
 * Gives one scrape to everybody who asks within a second, so it is built at most once a second, however many ask. A
 * flood of scrapers is slowed to the same pace, because sending answers also takes time from searches.
 */
export class SharedScrape {
  private readonly build: () => Promise<{ contentType: string; text: string }>;
  private readonly clock: Clock;
  private building: Promise<Scrape> | null = null;
  private latest: { scrape: Scrape; builtMs: number; given: number } | null = null;
  private next: Promise<Scrape> | null = null;

  constructor(options: { build: () => Promise<{ contentType: string; text: string }>; clock: Clock }) {
    this.build = options.build;
    this.clock = options.clock;
  }

  /** At most a second old. Rejects with the error of `build`; the next call builds again. */
  read(): Promise<Scrape> {
    if (this.building !== null) return this.building;
    const { latest } = this;
    const leftMs = latest === null ? 0 : latest.builtMs + SHARED_MS - this.clock.monotonicMs();
    if (latest === null || leftMs <= 0) return this.begin();
    if (latest.given < AT_ONCE_MAX) {
      latest.given++;
      return Promise.resolve(latest.scrape);
    }
    this.next ??= new Promise<void>((resolve) => setTimeout(resolve, leftMs).unref()).then(() => {
      this.next = null;
      return this.building ?? this.begin();
    });
    return this.next;
  }

  private begin(): Promise<Scrape> {
    this.building = this.build()
      .then(({ contentType, text }) => {
        const scrape = { contentType, text: Buffer.from(text, 'utf8') };
        this.latest = { scrape, builtMs: this.clock.monotonicMs(), given: 1 };
        return scrape;
      })
      .finally(() => {
        this.building = null;
      });
    return this.building;
  }
}
