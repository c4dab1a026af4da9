/** Entries of a shared slab, 320 KiB: small regions of many terms share one. */
const SLAB_SIZE = 1 << 16;
/** Of the first one, 20 KiB: most shards have few texts. */
const FIRST_SLAB_SIZE = 1 << 12;
/** Larger regions are slabs of their own, so that growing one copies only itself. */
const SHARED_REGION_MAX = FIRST_SLAB_SIZE;

/** A part of a slab. */
export interface Region {
  slab: number;
  offset: number;
  capacity: number;
}

/**
 * Memory for posting lists: pairs of document number and term frequency in two parallel arrays (5 bytes per posting).
 * Small regions have capacities that are powers of two, and are reused through one free list per size.
 */
export class PostingStorage {
  readonly documents: Uint32Array[] = [];
  readonly frequencies: Uint8Array[] = [];
  private readonly freeSlabs: number[] = [];
  private readonly freeRegions: number[][] = [];
  private current = -1;
  private used = 0;
  private entries = 0;

  /** A region with room for at least `capacity` postings. */
  allocate(capacity: number): Region {
    if (capacity > SHARED_REGION_MAX) return { slab: this.addSlab(capacity), offset: 0, capacity };
    const sizeClass = sizeClassOf(capacity);
    const address = this.freeRegions[sizeClass]?.pop();
    if (address !== undefined)
      return { slab: Math.floor(address / SLAB_SIZE), offset: address % SLAB_SIZE, capacity: 1 << sizeClass };
    const size = 1 << sizeClass;
    if (this.current < 0 || this.used + size > this.documents[this.current].length) {
      this.current = this.addSlab(this.current < 0 ? FIRST_SLAB_SIZE : SLAB_SIZE);
      this.used = 0;
    }
    const offset = this.used;
    this.used += size;
    return { slab: this.current, offset, capacity: size };
  }

  free(region: Region): void {
    if (region.capacity > SHARED_REGION_MAX) {
      this.entries -= region.capacity;
      this.documents[region.slab] = new Uint32Array(0);
      this.frequencies[region.slab] = new Uint8Array(0);
      this.freeSlabs.push(region.slab);
      return;
    }
    (this.freeRegions[sizeClassOf(region.capacity)] ??= []).push(region.slab * SLAB_SIZE + region.offset);
  }

  get memoryBytes(): number {
    return this.entries * 5;
  }

  private addSlab(size: number): number {
    const slab = this.freeSlabs.pop() ?? this.documents.length;
    this.documents[slab] = new Uint32Array(size);
    this.frequencies[slab] = new Uint8Array(size);
    this.entries += size;
    return slab;
  }
}

/** The least power of two that is not less than `capacity`, as an exponent. */
function sizeClassOf(capacity: number): number {
  return 32 - Math.clz32(capacity - 1);
}
