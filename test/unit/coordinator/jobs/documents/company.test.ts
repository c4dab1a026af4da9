import { getEventListeners } from 'node:events';
import { Company } from '../../../../../coordinator/jobs/documents/company';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

test('a run that has its turn often leaves nothing at its signal', async () => {
  const company = new Company();
  const { signal } = new AbortController();
  for (let turn = 0; turn < 20; turn += 1) {
    const leave = await company.enter(turn % 2 === 0, signal);
    expect(listeners(signal)).toBe(0);
    leave();
  }
});

test('one that is stopped while it waits holds up nobody, and one that is stopped inside stays until it leaves', async () => {
  const company = new Company();
  const inside = new AbortController();
  const leave = await company.enter(false, inside.signal);
  const stop = new AbortController();
  const alone = company.enter(true, stop.signal);
  const next = company.enter(false, new AbortController().signal);
  expect(listeners(stop.signal)).toBe(1);
  stop.abort(new Error('stopped'));
  await expect(alone).rejects.toThrow('stopped');
  (await next)();
  inside.abort();
  let isAlone = false;
  const last = company.enter(true, new AbortController().signal).then(() => (isAlone = true));
  await new Promise(setImmediate);
  expect(isAlone).toBe(false);
  leave();
  await last;
});
