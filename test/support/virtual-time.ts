/** What Jest's own types have, and those that are installed beside it do not have yet. */
const ticking = jest as unknown as { setTimerTickMode(mode: { mode: 'nextAsync' }): void };

/**
 * Time that passes by itself and takes none: the clocks stand still while anything is at work, and go on to the next
 * timer when nothing is. So what depends on timers is the same on a machine of any speed, and nobody waits. For what
 * happens in memory alone: files, sockets and other processes go by the real time. Ends with the tests of the file.
 */
export function inVirtualTime(): void {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
    ticking.setTimerTickMode({ mode: 'nextAsync' });
  });
  afterEach(() => {
    jest.useRealTimers();
  });
}
