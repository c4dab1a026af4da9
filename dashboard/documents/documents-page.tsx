import { useRef, useState } from 'preact/hooks';
import { call, messageOf, path } from '../api/client';
import type { Collection, Job, StoredDocument } from '../api/shapes';
import { DropPlace, FileButton, useDropGuard } from '../parts/file-drop';
import { bytes, count, dateTime, percent, plural } from '../parts/format';
import { Busy, Failure, Meter } from '../parts/notice';
import { Question } from '../parts/question';
import { usePolling } from '../state/polling';
import { mayWrite } from '../state/session';
import { sendFile } from '../upload/upload-request';
import { nameOf } from './document-name';
import { DocumentPanel } from './document-panel';

const SHOWN = 100;
const POLL_MS = 3_000;
const JOBS_SHOWN = 20;
const JOBS_ASKED = 200;
/** The order in which they are shown; others are not. */
const SHOWN_STATES: readonly Job['state'][] = ['running', 'failed', 'paused', 'queued'];
/** What the service reads. */
const ACCEPTED = '.txt,.md,.markdown,.html,.htm,.pdf,.docx,.csv,.jsonl,.ndjson';

interface Sending {
  id: number;
  name: string;
  share: number;
  failure: string | null;
}

/** The documents of a collection: what there is, what becomes of new ones, and each in its chunks. */
export function DocumentsPage({ collection, onStored }: { collection: Collection; onStored: () => void }) {
  const { name } = collection;
  const [cursor, setCursor] = useState('');
  const [shown, setShown] = useState<StoredDocument | null>(null);
  const [deleting, setDeleting] = useState<StoredDocument | null>(null);
  const [sending, setSending] = useState<Sending[]>([]);
  const nextId = useRef(1);
  const query = `?limit=${SHOWN}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
  const page = usePolling(`documents/${name}/${cursor}`, POLL_MS, (signal) =>
    call<'get_collections_name_documents'>('GET', path('/v1/collections/', name, '/documents') + query, { signal }),
  );
  const jobs = usePolling(`document-jobs/${name}`, POLL_MS, async (signal) => {
    const found = await Promise.all(
      ['', '&state=failed'].map((more) =>
        call<'get_jobs'>('GET', path('/v1/jobs?kind=document&collection=', name) + `&limit=${JOBS_ASKED}${more}`, {
          signal,
        }),
      ),
    );
    return toShow(found.flatMap((one) => one.jobs));
  });
  useDropGuard();

  const change = (id: number, fields: Partial<Sending>): void =>
    setSending((last) => last.map((one) => (one.id === id ? { ...one, ...fields } : one)));
  const add = async (files: Iterable<File>, key?: string): Promise<void> => {
    for (const file of files) {
      const id = nextId.current++;
      setSending((last) => [...last, { id, name: file.name, share: 0, failure: null }]);
      try {
        const fields = { collection_name: name, document_key: key ?? file.name };
        await sendFile<'post_documents'>('/v1/documents', fields, file, (share) => change(id, { share }));
        setSending((last) => last.filter((one) => one.id !== id));
      } catch (error) {
        change(id, { failure: messageOf(error) });
      }
      jobs.refresh();
      page.refresh();
    }
    onStored();
  };
  const documents = page.data?.documents ?? [];
  return (
    <div class="stack">
      {mayWrite() && (
        <DropPlace label="Add documents" onFiles={(files) => void add(files)}>
          <h2>Drop documents here</h2>
          <p class="quiet">Texts, Markdown, HTML, PDF, DOCX, CSV and JSON lines. One of the same name is replaced.</p>
          <FileButton
            label="Choose files"
            filesLabel="Choose documents: files"
            accept={ACCEPTED}
            isPrimary
            isMultiple
            onFiles={(files) => void add(files)}
          >
            Choose files
          </FileButton>
        </DropPlace>
      )}
      <UnderWay sending={sending} jobs={jobs.data ?? []} />
      <section class="card" aria-label="Documents">
        <Failure error={page.data === null ? page.error : null} />
        {page.data === null && page.error === null && <Busy>Asking for the documents…</Busy>}
        {page.data !== null && documents.length === 0 && <p class="empty">There are no documents yet.</p>}
        {documents.length > 0 && (
          <div class="scroll-x">
            <table>
              <thead>
                <tr>
                  <th>Document</th>
                  <th>Type</th>
                  <th class="number">Pages</th>
                  <th class="number">Chunks</th>
                  <th class="number">Size</th>
                  <th>Updated</th>
                  <th />
                </tr>
              </thead>
              <tbody>
                {documents.map((one) => (
                  <tr key={one.document_id}>
                    <td class="break">
                      <button type="button" class="plain link" onClick={() => setShown(one)}>
                        {nameOf(one)}
                      </button>
                    </td>
                    <td>{one.type ?? ''}</td>
                    <td class="number">{one.pages === null ? '' : count(one.pages)}</td>
                    <td class="number">{one.chunks === null ? '' : count(one.chunks)}</td>
                    <td class="number">{one.bytes === null ? '' : bytes(one.bytes)}</td>
                    <td>{one.updated_at === null ? '' : dateTime(one.updated_at)}</td>
                    <td>
                      {mayWrite() && (
                        <span class="row">
                          {one.document_key !== null && (
                            <FileButton
                              label={`Replace ${nameOf(one)}`}
                              filesLabel={`Replace ${nameOf(one)}: files`}
                              accept={ACCEPTED}
                              onFiles={(files) => void add(files, one.document_key ?? undefined)}
                            >
                              Replace
                            </FileButton>
                          )}
                          <button
                            type="button"
                            class="tight danger"
                            aria-label={`Delete ${nameOf(one)}`}
                            onClick={() => setDeleting(one)}
                          >
                            Delete
                          </button>
                        </span>
                      )}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        <div class="card-body row">
          {cursor !== '' && (
            <button type="button" onClick={() => setCursor('')}>
              The first
            </button>
          )}
          {page.data?.next_cursor && (
            <button type="button" onClick={() => setCursor(page.data?.next_cursor ?? '')}>
              More
            </button>
          )}
        </div>
      </section>
      {shown !== null && <DocumentPanel collection={name} document={shown} onClose={() => setShown(null)} />}
      {deleting !== null && (
        <Question
          title={`Delete ${nameOf(deleting)}?`}
          verb="Delete the document"
          onClose={() => setDeleting(null)}
          run={async () => {
            await call<'delete_collections_name_documents_document_id'>(
              'DELETE',
              path('/v1/collections/', name, '/documents/', deleting.document_id),
            );
            page.refresh();
            onStored();
          }}
        >
          <p>All of its chunks go at one moment, for good.</p>
        </Question>
      )}
    </div>
  );
}

/** Of jobs, the newest first, the first of each document: it is past what became of the others. */
function toShow(jobs: readonly Job[]): Job[] {
  const bySubject = new Map<string, Job>();
  for (const job of jobs) if (!bySubject.has(job.subject)) bySubject.set(job.subject, job);
  return SHOWN_STATES.flatMap((state) => [...bySubject.values()].filter((job) => job.state === state));
}

/** Files on their way, and documents whose jobs are not over, or have failed. */
function UnderWay({ sending, jobs }: { sending: Sending[]; jobs: Job[] }) {
  if (sending.length === 0 && jobs.length === 0) return null;
  const more = jobs.length - JOBS_SHOWN;
  return (
    <section class="card" aria-label="Under way">
      <ul>
        {sending.map(({ id, name, share, failure }) => (
          <li key={id} class="upload">
            <div class="row">
              <strong class="break">{name}</strong>
              <span class={`small break ${failure === null ? 'quiet' : 'bad-text'}`} role="status">
                {failure ?? `${percent(share)} sent`}
              </span>
            </div>
            {failure === null && <Meter share={share} label={`Upload of ${name}`} />}
          </li>
        ))}
        {jobs.slice(0, JOBS_SHOWN).map((job) => (
          <li key={job.id} class="upload">
            <div class="row">
              <strong class="break">{job.subject}</strong>
              <span class={`small break ${job.state === 'failed' ? 'bad-text' : 'quiet'}`} role="status">
                {job.error ?? `${job.step ?? job.state} · ${percent(job.progress)}`}
              </span>
            </div>
            {job.state !== 'failed' && <Meter share={job.progress} label={`Progress of ${job.subject}`} />}
          </li>
        ))}
      </ul>
      {more > 0 && (
        <p class="card-body quiet">
          and {plural(more, 'document')} more: <a href="#/jobs">all jobs</a>
        </p>
      )}
    </section>
  );
}
