/** Waits until `holds` is true, looking every few milliseconds; throws after `deadlineMs` with what was awaited. */
export async function eventually(what: string, holds: () => boolean | Promise<boolean>, deadlineMs = 30_000): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not in time: ${what}`);
    await new Promise((wake) => setTimeout(wake, 5));
  }
}
