import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { eventually } from '../eventually';

/** The names that Chromium and its kin go by on Debian, Fedora and others. */
const COMMANDS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Where Chromium is on this machine; null without it. */
export function findChromium(): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return (
    COMMANDS.flatMap((command) => folders.map((folder) => join(folder, command))).find((path) => existsSync(path)) ??
    null
  );
}

/**
 * A page in a headless Chromium, driven by the DevTools protocol over a pair of pipes (--remote-debugging-pipe: JSON
 * texts that end in NUL; commands go into descriptor 3, answers come from 4).
 */
export class HeadlessBrowser {
  private readonly waiting = new Map<number, { resolve: (result: any) => void; reject: (error: Error) => void }>();
  private nextId = 1;
  private received = '';
  private session: string | undefined;

  private constructor(
    private readonly child: ChildProcess,
    private readonly profile: string,
  ) {
    (child.stdio[4] as Readable).setEncoding('utf8').on('data', (text: string) => this.take(text));
    child.once('exit', () => {
      for (const { reject } of this.waiting.values()) reject(new Error('the browser ended'));
    });
  }

  static async open(path: string, url: string): Promise<HeadlessBrowser> {
    const profile = mkdtempSync(join(tmpdir(), 'quiver-browser-'));
    const words = [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--no-first-run',
      '--window-size=1200,2000',
      `--user-data-dir=${profile}`,
      '--remote-debugging-pipe',
    ];
    const child = spawn(path, words, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    const browser = new HeadlessBrowser(child, profile);
    const { targetId } = await browser.send('Target.createTarget', { url });
    browser.session = (await browser.send('Target.attachToTarget', { targetId, flatten: true })).sessionId;
    return browser;
  }

  /** The value of an expression in the page; throws what it throws. */
  async evaluate<Value = any>(expression: string): Promise<Value> {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', {
      expression,
      returnByValue: true,
      awaitPromise: true,
    });
    if (exceptionDetails !== undefined)
      throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }

  /** Waits until an expression holds in the page. */
  until(expression: string): Promise<void> {
    return eventually(expression, () => this.evaluate<boolean>(`Boolean(${expression})`).catch(() => false));
  }

  /** Clicks the first element that matches, once it is there. */
  async click(selector: string): Promise<void> {
    const element = `document.querySelector(${JSON.stringify(selector)})`;
    await this.until(element);
    await this.evaluate(`${element}.click()`);
  }

  /** Types into the first element that matches, as a person does. */
  async type(selector: string, text: string): Promise<void> {
    const element = `document.querySelector(${JSON.stringify(selector)})`;
    await this.until(element);
    await this.evaluate(`${element}.focus()`);
    await this.send('Input.insertText', { text });
  }

  async close(): Promise<void> {
    const gone = new Promise<void>((done) => this.child.once('exit', () => done()));
    if (this.child.exitCode === null && this.child.signalCode === null) {
      this.session = undefined;
      await this.send('Browser.close').catch(() => undefined);
      await gone;
    }
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  private send(method: string, params: object = {}): Promise<any> {
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      (this.child.stdio[3] as Writable).write(`${JSON.stringify({ id, method, params, sessionId: this.session })}\0`);
    });
  }

  private take(text: string): void {
    const messages = (this.received + text).split('\0');
    this.received = messages.pop() ?? '';
    for (const message of messages) {
      const { id, result, error } = JSON.parse(message);
      const call = this.waiting.get(id);
      this.waiting.delete(id);
      if (error === undefined) call?.resolve(result);
      else call?.reject(new Error(error.message));
    }
  }
}
