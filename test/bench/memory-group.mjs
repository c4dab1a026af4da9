import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';

const FIRST = '/sys/fs/cgroup/memory';
const SECOND = '/sys/fs/cgroup';

/**
 * A memory cgroup (version 1 or 2) for processes under measurement: mapped files and the page cache count, and there is
 * no swap.
 */
export class MemoryGroup {
  constructor(folder, isFirst) {
    this.folder = folder;
    this.isFirst = isFirst;
  }

  /** Errors: that of the system where this user may not make one. */
  static make(bytes) {
    const isFirst = existsSync(`${FIRST}/memory.limit_in_bytes`);
    const folder = `${isFirst ? FIRST : SECOND}/quiver-bench-${process.pid}`;
    mkdirSync(folder);
    const group = new MemoryGroup(folder, isFirst);
    try {
      writeFileSync(`${folder}/${isFirst ? 'memory.limit_in_bytes' : 'memory.max'}`, String(bytes));
      const swap = `${folder}/${isFirst ? 'memory.memsw.limit_in_bytes' : 'memory.swap.max'}`;
      if (existsSync(swap)) writeFileSync(swap, String(isFirst ? bytes : 0));
    } catch (error) {
      group.remove();
      throw error;
    }
    return group;
  }

  /** The words that run a program in it, from its first page on. */
  get prefix() {
    return ['/bin/sh', '-c', `echo $$ > ${this.folder}/cgroup.procs && exec "$0" "$@"`];
  }

  /** The most that it had, mapped files and page cache included, and how often the system killed a process in it. */
  get facts() {
    const read = (name) => readFileSync(`${this.folder}/${name}`, 'utf8');
    const kills = Number(/oom_kill (\d+)/.exec(read(this.isFirst ? 'memory.oom_control' : 'memory.events'))?.[1] ?? 0);
    return { highest: Number(read(this.isFirst ? 'memory.max_usage_in_bytes' : 'memory.peak')), kills };
  }

  /** When its processes have ended. */
  remove() {
    rmdirSync(this.folder);
  }
}
