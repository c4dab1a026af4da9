/**
 * Time that passes by itself and takes none: the clocks stand still while anything is at work, and go on to the next
 * timer when nothing is. So what depends on timers is the same on a machine of any speed, and nobody waits. For what
 * happens in memory alone: files, sockets and other processes go by the real time. Ends with the tests of the file.
 */
export function inVirtualTime(): void {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] });
    jest.setTimerTickMode({ mode: 'nextAsync' });
  });
  afterEach(() => {
    jest.useRealTimers();
  });
}
