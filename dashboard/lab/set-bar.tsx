import { useRef, useState } from 'preact/hooks';
import { call, messageOf, path } from '../api/client';
import type { Judgements } from '../api/shapes';
import { DialogForm } from '../parts/dialog-form';
import { dateTime, plural } from '../parts/format';
import { Question } from '../parts/question';
import { tell } from '../state/toasts';
import { fileText, type JudgedFile, nameOfFile, readFile } from './judged-file';
import { isKept, type JudgedQuery, sentJudged } from './judged';
import type { Variant } from './variants';

/** By then the browser has begun to store a file. */
const FETCHED_MS = 10_000;

interface SetBarProps {
  collection: string;
  sets: Judgements[];
  /** The name that is shown; it may be one that is not kept yet. */
  name: string;
  judged: JudgedQuery[] | null;
  variants: Variant[];
  k: number;
  /** Whether a grade is on its way to the service. */
  isUnkept: boolean;
  isReadOnly: boolean;
  onName: (name: string) => void;
  /** After a set was put or deleted as a whole. */
  onChanged: (name: string, file: JudgedFile | null) => void;
}

/** Which judgements are shown; new ones, and the way to a file and back. */
export function SetBar(props: SetBarProps) {
  const { collection, sets, name, judged, variants, k, isUnkept, isReadOnly, onName, onChanged } = props;
  const [asks, setAsks] = useState<'new' | 'delete' | { name: string; file: JudgedFile } | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const known = sets.find((one) => one.name === name);
  const kept = judged?.filter(isKept) ?? [];
  const read = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return;
    try {
      setAsks({ name: nameOfFile(file.name), file: readFile(await file.text()) });
    } catch (error) {
      tell(messageOf(error), { isBad: true });
    }
  };
  return (
    <section class="card card-body row" aria-label="Judgements">
      <label class="check">
        <span class="quiet">Judgements</span>
        <select value={name} onChange={(event) => onName(event.currentTarget.value)}>
          {known === undefined && <option value={name}>{name} (not kept yet)</option>}
          {sets.map((one) => (
            <option key={one.name} value={one.name}>
              {one.name}
            </option>
          ))}
        </select>
      </label>
      {known !== undefined && (
        <span class="quiet small">
          {plural(known.queries, 'query', 'queries')}, {plural(known.grades, 'grade')}, {dateTime(known.updated_at)}
        </span>
      )}
      <span class="quiet small" role="status">
        {isUnkept ? 'keeping the grades…' : ''}
      </span>
      <span class="browse-end row">
        {!isReadOnly && (
          <button type="button" onClick={() => setAsks('new')}>
            New
          </button>
        )}
        {!isReadOnly && (
          <>
            <input
              ref={input}
              type="file"
              accept=".json,application/json"
              class="visually-hidden"
              tabIndex={-1}
              aria-label="File of judged queries"
              onChange={(event) => {
                void read(event.currentTarget.files?.[0]);
                event.currentTarget.value = '';
              }}
            />
            <button type="button" onClick={() => input.current?.click()}>
              Upload a file
            </button>
          </>
        )}
        <button
          type="button"
          disabled={kept.length === 0}
          onClick={() => download(`${name}.json`, fileText({ judged: sentJudged(kept), variants, k }))}
        >
          Download
        </button>
        {!isReadOnly && known !== undefined && (
          <button type="button" class="danger" onClick={() => setAsks('delete')}>
            Delete
          </button>
        )}
      </span>
      {asks === 'new' && (
        <NewSet
          sets={sets}
          onClose={() => setAsks(null)}
          onName={(next) => {
            setAsks(null);
            onName(next);
          }}
        />
      )}
      {asks === 'delete' && (
        <Question
          title={`Delete ${name}?`}
          verb="Delete judgements"
          onClose={() => setAsks(null)}
          run={async () => {
            await call<'delete_collections_name_judgements_id'>(
              'DELETE',
              path('/v1/collections/', collection, '/judgements/', name),
            );
            onChanged('', null);
          }}
        >
          <p>Its queries and grades are gone then. Backups do not have them; a file that you download does.</p>
        </Question>
      )}
      {asks !== null && typeof asks === 'object' && (
        <UploadSet
          collection={collection}
          sets={sets}
          suggested={asks.name}
          file={asks.file}
          onClose={() => setAsks(null)}
          onDone={(stored) => {
            setAsks(null);
            onChanged(stored, asks.file);
          }}
        />
      )}
    </section>
  );
}

function NewSet({
  sets,
  onName,
  onClose,
}: {
  sets: Judgements[];
  onName: (name: string) => void;
  onClose: () => void;
}) {
  const [name, setName] = useState('');
  const isThere = sets.some((one) => one.name === name);
  return (
    <DialogForm title="New judgements" verb="Begin" isReady={!isThere} run={async () => onName(name)} onClose={onClose}>
      <NameField name={name} onName={setName} />
      <p class="quiet">
        {isThere ? 'There are judgements of this name.' : 'They are kept with the collection from the first grade on.'}
      </p>
    </DialogForm>
  );
}

function UploadSet(props: {
  collection: string;
  sets: Judgements[];
  suggested: string;
  file: JudgedFile;
  onDone: (name: string) => void;
  onClose: () => void;
}) {
  const { collection, sets, suggested, file, onDone, onClose } = props;
  const [name, setName] = useState(suggested);
  const there = sets.find((one) => one.name === name);
  const upload = async (): Promise<void> => {
    await call<'put_collections_name_judgements_id'>(
      'PUT',
      path('/v1/collections/', collection, '/judgements/', name),
      { body: file.judged },
    );
    onDone(name);
  };
  return (
    <DialogForm
      title="Upload judged queries"
      verb={there === undefined ? 'Keep them' : 'Replace them'}
      isDanger={there !== undefined}
      run={upload}
      onClose={onClose}
    >
      <p>
        The file has {plural(file.judged.length, 'judged query', 'judged queries')}
        {file.variants === null ? '' : ` and ${plural(file.variants.length, 'variant')}`}.
      </p>
      <NameField name={name} onName={setName} />
      {there !== undefined && (
        <p class="notice warn">They replace the {plural(there.queries, 'query', 'queries')} of this name.</p>
      )}
    </DialogForm>
  );
}

function NameField({ name, onName }: { name: string; onName: (name: string) => void }) {
  return (
    <label class="field">
      <span class="label">Name</span>
      <input
        value={name}
        onInput={(event) => onName(event.currentTarget.value)}
        pattern="[A-Za-z0-9_\-]{1,255}"
        title="Letters, digits, hyphens and underscores"
        autocomplete="off"
        spellcheck={false}
        required
      />
    </label>
  );
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), FETCHED_MS);
}
