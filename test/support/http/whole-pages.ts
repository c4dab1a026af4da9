import type { VectorView } from '../../../coordinator/service/service';

/** All items of a fetch. */
export async function fetched(pages: Promise<AsyncIterable<VectorView[]>>): Promise<VectorView[]> {
  const views: VectorView[] = [];
  for await (const page of await pages) views.push(...page);
  return views;
}

/** All items of a page of a scroll. */
export async function scrolledPage(
  answer: Promise<{ pages: AsyncIterable<VectorView[]>; nextCursor: () => string | null }>,
): Promise<{ vectors: VectorView[]; nextCursor: string | null }> {
  const { pages, nextCursor } = await answer;
  const vectors = await fetched(Promise.resolve(pages));
  return { vectors, nextCursor: nextCursor() };
}
