import { readEvents } from '../../../../dashboard/api/event-reader';

test('events are read wherever the stream is cut, and comments are none', async () => {
  const text = 'event: text\ndata: {"text":"a"}\n\n: \n\nevent: envelope\ndata: {"status":"success"}\n\n';
  for (let at = 0; at <= text.length; at += 1) {
    const pieces = [text.slice(0, at), text.slice(at)];
    const found: unknown[] = [];
    await readEvents({ read: async () => ({ done: pieces.length === 0, value: pieces.shift() }) }, (name, data) =>
      found.push([name, data]),
    );
    expect(found).toEqual([
      ['text', { text: 'a' }],
      ['envelope', { status: 'success' }],
    ]);
  }
});
