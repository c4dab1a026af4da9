import { useRef, useState } from 'preact/hooks';
import { call, isAbort, messageOf, path } from '../api/client';
import type { Collection } from '../api/shapes';
import { DropPlace, FileButton, useDropGuard } from '../parts/file-drop';
import { bytes, percent, plural } from '../parts/format';
import { Meter } from '../parts/notice';
import { uploadFile } from './upload-request';

interface Upload {
  id: number;
  file: File;
  state: 'waiting' | 'sending' | 'storing' | 'done' | 'failed' | 'stopped';
  share: number;
  /** Chunks: of the answer, and until then how many vectors the collection has grown by. */
  chunks: number;
  failure: string | null;
  stop: AbortController;
}

/** How often the server is asked how many chunks it has stored. */
const STORED_POLL_MS = 2000;

export function UploadPage({ collection, onStored }: { collection: Collection; onStored: () => void }) {
  const [uploads, setUploads] = useState<Upload[]>([]);
  const nextId = useRef(1);
  const queue = useRef<Upload[]>([]);
  useDropGuard();
  const isRunning = useRef(false);

  const change = (id: number, fields: Partial<Upload>): void =>
    setUploads((last) => last.map((upload) => (upload.id === id ? { ...upload, ...fields } : upload)));

  /** One after another: the server embeds one as fast as two. */
  const work = async (): Promise<void> => {
    if (isRunning.current) return;
    isRunning.current = true;
    for (let upload = queue.current.shift(); upload !== undefined; upload = queue.current.shift()) {
      const { id, file, stop } = upload;
      if (stop.signal.aborted) continue;
      change(id, { state: 'sending' });
      const watch = watchCount(collection.name, (chunks) => change(id, { chunks }));
      try {
        const answer = await uploadFile(collection.name, file, stop.signal, (share) =>
          change(id, { share, state: share >= 1 ? 'storing' : 'sending' }),
        );
        change(id, { state: 'done', share: 1, chunks: answer.chunks_created });
        onStored();
      } catch (error) {
        change(id, isAbort(error) ? { state: 'stopped' } : { state: 'failed', failure: messageOf(error) });
      }
      watch.stop();
    }
    isRunning.current = false;
  };

  const add = (files: File[]): void => {
    const added = files.map((file): Upload => ({
      id: nextId.current++,
      file,
      state: 'waiting',
      share: 0,
      chunks: 0,
      failure: null,
      stop: new AbortController(),
    }));
    setUploads((last) => [...last, ...added]);
    queue.current.push(...added);
    void work();
  };

  const stop = (upload: Upload): void => {
    upload.stop.abort();
    change(upload.id, { state: 'stopped' });
  };

  return (
    <div class="stack">
      <DropPlace label="Upload documents" onFiles={add}>
        <h2>Drop text files here</h2>
        <p class="quiet">UTF-8 .txt files are cut into passages, embedded and stored, all of a file or nothing.</p>
        <FileButton
          label="Choose files"
          filesLabel="Text files"
          accept=".txt,text/plain"
          isPrimary
          isMultiple
          onFiles={add}
        >
          Choose files
        </FileButton>
      </DropPlace>
      {uploads.length > 0 && (
        <section class="card" aria-label="Uploads">
          <ul>
            {uploads.map((upload) => (
              <UploadRow key={upload.id} upload={upload} collection={collection.name} onStop={() => stop(upload)} />
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

function UploadRow({ upload, collection, onStop }: { upload: Upload; collection: string; onStop: () => void }) {
  const { file, state, share, chunks, failure } = upload;
  const said = {
    waiting: 'waits for the one before',
    sending: `${percent(share)} sent${chunks > 0 ? `, ${plural(chunks, 'passage')} stored` : ''}`,
    storing: `embedding and storing the rest${chunks > 0 ? `, ${plural(chunks, 'passage')} so far` : ''}`,
    done: `${plural(chunks, 'passage')} stored`,
    failed: failure ?? 'failed',
    stopped: 'stopped; nothing of it is kept',
  }[state];
  const isUnderWay = state === 'waiting' || state === 'sending' || state === 'storing';
  return (
    <li class="upload" data-state={state}>
      <div class="row">
        <strong class="break">{file.name}</strong>
        <span class="quiet small">{bytes(file.size)}</span>
        <span class={`small break ${state === 'failed' ? 'bad-text' : 'quiet'}`} role="status">
          {said}
        </span>
        <span class="browse-end row">
          {state === 'done' && (
            <a
              href={`#/collections/${collection}/browse?where=${encodeURIComponent(JSON.stringify([['source', '$eq', file.name]]))}`}
            >
              Browse it
            </a>
          )}
          {isUnderWay && (
            <button type="button" class="tight" onClick={onStop} aria-label={`Stop ${file.name}`}>
              Stop
            </button>
          )}
        </span>
      </div>
      {isUnderWay && <Meter share={share} label={`Upload of ${file.name}`} />}
    </li>
  );
}

/** Tells by how many vectors a collection has grown since now. */
function watchCount(collection: string, onGrown: (vectors: number) => void): { stop: () => void } {
  let first: number | null = null;
  const stop = new AbortController();
  const ask = async (): Promise<void> => {
    const { vector_count: vectors } = await call<'get_collections_name_stats'>(
      'GET',
      path('/v1/collections/', collection, '/stats'),
      { signal: stop.signal },
    );
    first ??= vectors;
    if (!stop.signal.aborted) onGrown(Math.max(0, vectors - first));
  };
  void ask().catch(() => undefined);
  const timer = setInterval(() => void ask().catch(() => undefined), STORED_POLL_MS);
  return {
    stop: () => {
      clearInterval(timer);
      stop.abort();
    },
  };
}
