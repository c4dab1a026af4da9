interface Appointment {
  at: number;
  order: number;
  act: () => void;
}

/** Simulated time: what is to happen, in order of time and, at the same time, of being scheduled. */
export class Schedule {
  /** Simulated milliseconds. */
  now = 0;
  private readonly heap: Appointment[] = [];
  private count = 0;

  after(delay: number, act: () => void): void {
    const item = { at: this.now + Math.max(0, delay), order: this.count++, act };
    const { heap } = this;
    let i = heap.length;
    heap.push(item);
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!isBefore(item, heap[parent])) break;
      heap[i] = heap[parent];
      i = parent;
    }
    heap[i] = item;
  }

  runUntil(time: number): void {
    while (this.runNext(time));
    this.now = time;
  }

  /** Does what is to happen next, unless that is later than `time`: then answers false. */
  runNext(time: number): boolean {
    if (this.heap.length === 0 || this.heap[0].at > time) return false;
    const next = this.pop();
    this.now = next.at;
    next.act();
    return true;
  }

  private pop(): Appointment {
    const { heap } = this;
    const top = heap[0];
    const last = heap.pop()!;
    if (heap.length === 0) return top;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child++;
      if (!isBefore(heap[child], last)) break;
      heap[i] = heap[child];
      i = child;
    }
    heap[i] = last;
    return top;
  }
}

function isBefore(one: Appointment, other: Appointment): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}
