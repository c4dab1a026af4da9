import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { KeyWriter } from '../keys/quota/key-quota';
import { BUILTIN_MODEL } from '../../models/builtin-model';
import type { EmbeddingProvider } from '../../models/embedding-provider';
import { fallbackNotice } from '../../models/fallback-notice';
import {
  type CollectionsService,
  type CollectionView,
  type DemoService,
  type DemoView,
  UNKNOWN_COUNT,
  type VectorsService,
} from '../service';
import { demoId } from './demo-text';
import { DEMO_TEXTS } from './demo-texts';

export const DEMO_COLLECTION = 'demo';
/** By it the demo knows a collection as its own. */
const DESCRIPTION =
  'Short texts about animals, countries, culture, elements, inventions, nature and space, to try Quiver with.';
/** Where the model fits any dimension. */
const USUAL_DIM = 384;
/** Texts that are embedded and stored at once: others have their turn in between. */
const BATCH = 32;

/** Loads the texts of the demo into a collection, by what the service does anyway. */
export class CollectionDemoService implements DemoService {
  private loading: Promise<DemoView> | null = null;
  private readonly collections: Pick<CollectionsService, 'create' | 'get'>;
  private readonly vectors: Pick<VectorsService, 'upsert'>;
  private readonly embedding: Pick<EmbeddingProvider, 'defaultModel' | 'status'>;

  constructor(parts: {
    collections: Pick<CollectionsService, 'create' | 'get'>;
    vectors: Pick<VectorsService, 'upsert'>;
    embedding: Pick<EmbeddingProvider, 'defaultModel' | 'status'>;
  }) {
    this.collections = parts.collections;
    this.vectors = parts.vectors;
    this.embedding = parts.embedding;
  }

  /** Calls that come while it is loaded share the work, and count in the quota of the first one's key. */
  load(writer?: KeyWriter): Promise<DemoView> {
    this.loading ??= this.loadNow(writer).finally(() => (this.loading = null));
    return this.loading;
  }

  private async loadNow(writer: KeyWriter | undefined): Promise<DemoView> {
    const { vectorCount, description } = (await this.existing()) ?? (await this.made());
    if (description !== DESCRIPTION) {
      throw new QuiverError(
        'already_exists',
        `there is another collection named "${DEMO_COLLECTION}", which the demo leaves alone: delete it, and call again`,
      );
    }
    if (vectorCount === UNKNOWN_COUNT)
      throw new QuiverError(
        'unavailable',
        `collection "${DEMO_COLLECTION}" is there, and shards of it do not answer; the call may be retried`,
      );
    const isWhole = vectorCount >= DEMO_TEXTS.length;
    if (!isWhole) await this.fill(writer);
    const { embeddingModel, dim } = await this.collections.get(DEMO_COLLECTION);
    return {
      collection: DEMO_COLLECTION,
      count: DEMO_TEXTS.length,
      loaded: !isWhole,
      dim,
      embeddingModel,
      notice: this.noticeOf(embeddingModel),
    };
  }

  /** Why its texts are not compared by meaning, where that was wanted. */
  private noticeOf(model: string | null): string | null {
    const status = this.embedding.status();
    if (model !== BUILTIN_MODEL || status.configured === BUILTIN_MODEL) return null;
    const past = `The texts of "${DEMO_COLLECTION}" are compared by words, not by meaning: ${status.configured} could not be loaded when they were stored. Delete the collection and load the demo again.`;
    return fallbackNotice(status) ?? past;
  }

  private async existing(): Promise<CollectionView | null> {
    try {
      return await this.collections.get(DEMO_COLLECTION);
    } catch (error) {
      if (isQuiverError(error) && error.kind === 'not_found') return null;
      throw error;
    }
  }

  private async made(): Promise<CollectionView> {
    const dim = (await this.embedding.defaultModel()).dim ?? USUAL_DIM;
    try {
      return await this.collections.create({
        name: DEMO_COLLECTION,
        dim,
        metric: 'cosine',
        description: DESCRIPTION,
        language: 'en',
        shards: undefined,
        replicas: undefined,
      });
    } catch (error) {
      if (!isQuiverError(error) || error.kind !== 'already_exists') throw error;
      const other = await this.existing();
      if (other === null)
        throw new QuiverError(
          'unavailable',
          'another coordinator is making the demo at this moment; the call may be retried',
          { cause: error },
        );
      return other;
    }
  }

  private async fill(writer: KeyWriter | undefined): Promise<void> {
    for (let from = 0; from < DEMO_TEXTS.length; from += BATCH) {
      const items = DEMO_TEXTS.slice(from, from + BATCH).map((text) => ({
        externalId: demoId(text),
        source: { text: `${text.title}. ${text.text}` },
        metadata: JSON.stringify({ topic: text.topic, title: text.title, ...text.facts }),
        text: undefined,
      }));
      await this.vectors.upsert(DEMO_COLLECTION, items, { writer });
    }
  }
}
