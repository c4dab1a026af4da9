import { useState } from 'preact/hooks';
import { call } from '../api/client';
import type { Collection, Metric } from '../api/shapes';
import { DialogForm } from '../parts/dialog-form';
import { bytes, count } from '../parts/format';
import { usePolling } from '../state/polling';
import { go } from '../state/route';
import { estimate } from './memory-estimate';

type Language = '' | NonNullable<Collection['language']>;
const LANGUAGES: Partial<Record<Language, string>> = {
  '': 'None: words as they are written',
  en: 'English',
  de: 'German',
  fr: 'French',
  es: 'Spanish',
  it: 'Italian',
  pt: 'Portuguese',
  nl: 'Dutch',
  sv: 'Swedish',
  ru: 'Russian',
};

/** It fits any dimension. */
const BUILTIN = 'local:builtin';
/** Dimension of the default embedding model: what texts need. */
const DIM_OF_TEXT = 384;

export function CreateCollection({ onClose, isCluster }: { onClose: () => void; isCluster: boolean }) {
  const [name, setName] = useState('');
  const [dim, setDim] = useState(DIM_OF_TEXT);
  const [metric, setMetric] = useState<Metric>('cosine');
  const [language, setLanguage] = useState<Language>('');
  const [model, setModel] = useState('');
  const [shards, setShards] = useState(1);
  const [replicas, setReplicas] = useState(1);
  const [vectors, setVectors] = useState(100_000);
  const health = usePolling('health', 0, (signal) => call<'get_health'>('GET', '/v1/health', { signal })).data;
  const need = estimate({ dim, vectors, replicas });

  const create = async (): Promise<void> => {
    const body = {
      name,
      // That of the model, where one is chosen; builtin fits any.
      ...(model === '' || model === BUILTIN ? { dim } : {}),
      ...(model === '' ? {} : { embedding: { model } }),
      distance_metric: metric,
      ...(language === '' ? {} : { language }),
      ...(isCluster ? { shards, replicas } : {}),
    };
    const made = await call<'post_collections'>('POST', '/v1/collections', { body });
    onClose();
    go(`#/collections/${made.name}/upload`);
  };

  return (
    <DialogForm title="New collection" verb="Create collection" run={create} onClose={onClose}>
      <label class="field">
        <span class="label">Name</span>
        <input
          name="name"
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
          pattern="[A-Za-z0-9_\-]{1,255}"
          title="Letters, digits, hyphens and underscores"
          autocomplete="off"
          spellcheck={false}
          required
        />
      </label>
      <div class="form-grid">
        {(model === '' || model === BUILTIN) && (
          <NumberField
            label="Dimension"
            value={dim}
            min={1}
            max={16_384}
            onValue={setDim}
            hint={health === null ? '' : `For texts: that of ${health.embedding.active}`}
          />
        )}
        <label class="field">
          <span class="label">Model of texts</span>
          <select value={model} onChange={(event) => setModel(event.currentTarget.value)}>
            <option value="">As configured at the first text</option>
            {(health?.embedding.models ?? []).map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span class="label">Metric</span>
          <select value={metric} onChange={(event) => setMetric(event.currentTarget.value as Metric)}>
            <option value="cosine">Cosine</option>
            <option value="ip">Dot product</option>
            <option value="l2">Euclidean distance</option>
          </select>
        </label>
        <label class="field">
          <span class="label">Language of keywords</span>
          <select value={language} onChange={(event) => setLanguage(event.currentTarget.value as Language)}>
            {Object.entries(LANGUAGES).map(([code, label]) => (
              <option key={code} value={code}>
                {label}
              </option>
            ))}
          </select>
        </label>
        {isCluster && <NumberField label="Shards" value={shards} min={1} max={256} onValue={setShards} />}
        {isCluster && <NumberField label="Replicas" value={replicas} min={1} max={5} onValue={setReplicas} />}
      </div>
      <fieldset class="estimate">
        <legend>What it will take</legend>
        <NumberField label="Vectors you expect" value={vectors} min={0} max={1e10} onValue={setVectors} />
        <p aria-live="polite">
          About <strong>{bytes(need.memoryBytes)}</strong> of memory and <strong>{bytes(need.diskBytes)}</strong> on
          disk for {count(vectors)} vectors of {dim} dimensions
          {replicas > 1 ? `, over ${replicas} replicas` : ''}.
        </p>
      </fieldset>
    </DialogForm>
  );
}

function NumberField(props: {
  label: string;
  value: number;
  min: number;
  max: number;
  hint?: string;
  onValue: (value: number) => void;
}) {
  const { label, value, min, max, hint = '', onValue } = props;
  return (
    <label class="field">
      <span class="label">{label}</span>
      <input
        type="number"
        value={value}
        min={min}
        max={max}
        step={1}
        required
        onInput={(event) => onValue(event.currentTarget.valueAsNumber || 0)}
      />
      {hint !== '' && <span class="hint">{hint}</span>}
    </label>
  );
}
