import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RejectFile } from '../../../../cli/writing/reject-file';
import { ResumeFile, resumePath } from '../../../../cli/writing/resume-file';

const folder = mkdtempSync(join(tmpdir(), 'quiver-resume-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a resume file', () => {
  test('keeps a state for what it belongs to, and refuses to be of something else', () => {
    const path = join(folder, 'deep', 'a.json');
    const file = new ResumeFile<{ row: number }>(path, { source: 'x', collection: ['c', 1] });
    expect(file.read()).toBeNull();
    file.write({ row: 7 });
    expect(new ResumeFile<{ row: number }>(path, { source: 'x', collection: ['c', 1] }).read()).toEqual({ row: 7 });
    expect(() => new ResumeFile(path, { source: 'y', collection: ['c', 1] }).read()).toThrow(
      /since then has changed: source\./,
    );
    writeFileSync(path, '{"version":1,"identity":{');
    expect(() => file.read()).toThrow(/--restart/);
    file.remove();
    expect(file.read()).toBeNull();
    expect(statSync(join(folder, 'deep')).mode & 0o777).toBe(0o700);
  });

  test('does not share what it writes next with another run', () => {
    const path = join(folder, 'two', 'a.json');
    const file = new ResumeFile<{ row: number }>(path, {});
    file.write({ row: 1 });
    // As another run would have left it that is about to rename.
    writeFileSync(`${path}.next`, 'of another');
    file.write({ row: 2 });
    expect(file.read()).toEqual({ row: 2 });
    expect(readFileSync(`${path}.next`, 'utf8')).toBe('of another');
    expect(readdirSync(join(folder, 'two')).sort()).toEqual(['a.json', 'a.json.next']);
  });

  test('has a place of its own for each thing', () => {
    const environment = { XDG_STATE_HOME: '/state' };
    expect(resumePath(environment, ['a'])).toMatch(/^\/state\/quiver\/[0-9a-f]{24}\.json$/);
    expect(resumePath(environment, ['a'])).not.toBe(resumePath(environment, ['b']));
  });
});

describe('a reject file', () => {
  const row = (n: number): { place: string; externalId: string; reason: string } => ({
    place: `line ${n}`,
    externalId: `i${n}`,
    reason: 'bad',
  });
  const places = (path: string): string[] =>
    readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { place: string }).place);

  test('that goes on is cut to what was settled, so that nothing is listed twice', () => {
    const path = join(folder, 'r.jsonl');
    const first = new RejectFile(path);
    first.append([row(1), row(2)]);
    const { bytes } = first;
    first.append([row(3)]);
    first.close();
    const second = new RejectFile(path, bytes);
    second.append([row(3), row(4)]);
    second.close();
    expect(places(path)).toEqual(['line 1', 'line 2', 'line 3', 'line 4']);
  });

  test('that is not there any more, or shorter, goes on with what there is', () => {
    const path = join(folder, 'gone.jsonl');
    const moved = new RejectFile(path, 1000);
    moved.append([row(1)]);
    moved.append([row(2)]);
    moved.close();
    expect(places(path)).toEqual(['line 1', 'line 2']);
  });

  test('is only taken away when it is a file: a device stays', () => {
    const path = join(folder, 'device');
    symlinkSync('/dev/null', path);
    const rejects = new RejectFile(path);
    rejects.append([row(1)]);
    rejects.close();
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
    expect(existsSync('/dev/null')).toBe(true);
  });
});
