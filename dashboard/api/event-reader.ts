/** Reads a stream of events to its end; each has a name and JSON. */
export async function readEvents(
  reader: { read(): Promise<{ done: boolean; value?: string | undefined }> },
  onEvent: (name: string, data: unknown) => void,
): Promise<void> {
  let text = '';
  for (;;) {
    const { done, value = '' } = await reader.read();
    if (done) return;
    const blocks = (text + value).split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const [name = '', data = ''] = block.split('\n');
      if (name.startsWith('event: ')) onEvent(name.slice('event: '.length), JSON.parse(data.slice('data: '.length)));
    }
  }
}
