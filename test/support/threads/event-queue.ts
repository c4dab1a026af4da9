/** Virtual time: events happen in the order of their times, equal ones in the order they were set. */
export class EventQueue {
  now = 0;
  private readonly heap: { at: number; order: number; happen: () => void }[] = [];
  private order = 0;

  /** `at` not before `now`. */
  schedule(at: number, happen: () => void): void {
    const event = { at: Math.max(at, this.now), order: this.order++, happen };
    let place = this.heap.length;
    this.heap.push(event);
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!this.isBefore(place, parent)) break;
      this.swap(place, parent);
      place = parent;
    }
  }

  /** Lets everything happen, and what that leads to. */
  run(): void {
    while (this.heap.length > 0) {
      this.swap(0, this.heap.length - 1);
      const event = this.heap.pop() as { at: number; happen: () => void };
      this.sink();
      this.now = event.at;
      event.happen();
    }
  }

  private sink(): void {
    for (let place = 0; ;) {
      let first = place;
      for (const child of [2 * place + 1, 2 * place + 2])
        if (child < this.heap.length && this.isBefore(child, first)) first = child;
      if (first === place) return;
      this.swap(place, first);
      place = first;
    }
  }

  private isBefore(a: number, b: number): boolean {
    const [one, other] = [this.heap[a], this.heap[b]];
    return one.at < other.at || (one.at === other.at && one.order < other.order);
  }

  private swap(a: number, b: number): void {
    [this.heap[a], this.heap[b]] = [this.heap[b], this.heap[a]];
  }
}
