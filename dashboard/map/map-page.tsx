import { useEffect, useMemo, useState } from 'preact/hooks';
import { isAbort } from '../api/client';
import type { Collection } from '../api/shapes';
import { type Condition, conditionsFromParameter, parameterOf } from '../filters/filter-model';
import { FilterBar } from '../filters/filter-bar';
import { compact, count, percent, plural, valueText } from '../parts/format';
import { Busy, Failure, Meter } from '../parts/notice';
import { replaceQuery, route } from '../state/route';
import { normalised } from './camera';
import { colouringBy } from './colouring';
import { Legend } from './legend';
import { MapCanvas } from './map-canvas';
import { MapSearch } from './map-search';
import { looksOf } from './point-looks';
import { FocusPanel, SelectionPanel } from './map-panels';
import { fetchFields, fetchSample, type Sample } from './sample';
import { type Umap, useUmap } from './use-umap';

const SIZES = [1000, 5000, 20_000, 50_000];
const SIZE_DEFAULT = 50_000;
const UMAP_PHASES: Record<Umap['phase'], string> = {
  sample: 'UMAP: asking for more directions',
  neighbours: 'UMAP: finding neighbours',
  layout: 'UMAP: laying out',
};
const NOBODY: ReadonlySet<number> = new Set();

export function MapPage({ collection, onItem }: { collection: Collection; onItem: (id: string) => void }) {
  const [conditions, setConditions] = useState(() => conditionsFromParameter(route.value.query.get('where')));
  const [size, setSize] = useState(SIZE_DEFAULT);
  const [fields, setFields] = useState<string[] | null>(null);
  const [sample, setSample] = useState<Sample | null>(null);
  const [failure, setFailure] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(true);

  useEffect(() => {
    const stop = new AbortController();
    const load = async (): Promise<void> => {
      setBusy(true);
      const known = fields ?? (await fetchFields(collection, stop.signal));
      setFields(known);
      const next = await fetchSample(collection, { size, dimensions: 2, fields: known, conditions }, stop.signal);
      if (stop.signal.aborted) return;
      setSample(next);
      setFailure(null);
      setBusy(false);
    };
    replaceQuery({ where: parameterOf(conditions) });
    load().catch((error: unknown) => {
      if (stop.signal.aborted || isAbort(error)) return;
      setFailure(error);
      setBusy(false);
    });
    return () => stop.abort();
  }, [size, conditions]);

  return (
    <div class="stack">
      <section class="card card-body row" aria-label="What is on the map">
        <FilterBar conditions={conditions} fields={fields ?? []} onChange={setConditions} />
        <label class="check browse-end">
          <span class="quiet">Points</span>
          <select value={size} onChange={(event) => setSize(Number(event.currentTarget.value))}>
            {SIZES.map((one) => (
              <option key={one} value={one}>
                up to {count(one)}
              </option>
            ))}
          </select>
        </label>
      </section>
      <Failure error={failure} />
      {isBusy && <Busy>Drawing a sample and finding its main directions…</Busy>}
      {sample !== null && sample.items.length === 0 && (
        <p class="card empty">
          {conditions.length > 0 ? 'No item matches these filters.' : 'This collection is empty.'}
        </p>
      )}
      {sample !== null && sample.items.length > 0 && (
        <LoadedMap
          key={`${sample.population}/${sample.items.length}/${parameterOf(conditions)}`}
          collection={collection}
          sample={sample}
          fields={fields ?? []}
          size={size}
          conditions={conditions}
          onItem={onItem}
        />
      )}
    </div>
  );
}

interface LoadedMapProps {
  collection: Collection;
  sample: Sample;
  fields: string[];
  size: number;
  conditions: Condition[];
  onItem: (id: string) => void;
}

function LoadedMap({ collection, sample, fields, size, conditions, onItem }: LoadedMapProps) {
  const [field, setField] = useState<string | null>(fields[0] ?? null);
  const [shownGroups, setShownGroups] = useState<ReadonlySet<number> | null>(null);
  const [lit, setLit] = useState<ReadonlySet<number>>(NOBODY);
  const [chosen, setChosen] = useState<number[]>([]);
  const [focus, setFocus] = useState(-1);
  const [isLassoing, setLassoing] = useState(false);

  const flat = useMemo(() => normalised(planar(sample)), [sample]);
  const umap = useUmap({ collection, sample, size, conditions, start: flat });
  const colouring = useMemo(() => colouringBy(sample.items, field), [sample, field]);
  const looks = useMemo(
    () => looksOf(colouring, { shownGroups, lit, chosen: new Set(chosen), focus }),
    [colouring, shownGroups, lit, chosen, focus],
  );
  const placeOf = useMemo(() => new Map(sample.items.map(({ external_id: id }, i) => [id, i])), [sample]);
  const unfocus = (): void => {
    setFocus(-1);
    setLit(NOBODY);
  };
  const idOf = (point: number): string => sample.items[point]?.external_id ?? '';
  const light = (ids: string[]): void => setLit(new Set(ids.flatMap((id) => placeOf.get(id) ?? [])));
  const ofAll =
    sample.items.length < sample.population
      ? `${count(sample.items.length)} of ${count(sample.population)} items`
      : plural(sample.items.length, 'item');

  return (
    <div class="columns aside">
      <section class="card map-card" aria-label="Map">
        <div class="card-head">
          <div class="segments" role="radiogroup" aria-label="Layout">
            <button type="button" role="radio" aria-checked={umap.state === 'off'} onClick={umap.stop}>
              PCA
            </button>
            <button
              type="button"
              role="radio"
              aria-checked={umap.state !== 'off'}
              onClick={umap.start}
              disabled={sample.items.length < 4}
            >
              UMAP
            </button>
          </div>
          <label class="check">
            <span class="quiet">Colour</span>
            <select
              value={field ?? ''}
              onChange={(event) => {
                setField(event.currentTarget.value === '' ? null : event.currentTarget.value);
                setShownGroups(null);
              }}
            >
              <option value="">none</option>
              {fields.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          <button type="button" class="tight" aria-pressed={isLassoing} onClick={() => setLassoing(!isLassoing)}>
            Lasso
          </button>
          <span class="quiet small number map-said" role="status">
            {ofAll}
            {umap.state === 'off' && ` · ${percent(sample.explained)} of the variance`}
          </span>
        </div>
        {umap.state === 'running' && (
          <div class="map-progress">
            <span class="small quiet">{UMAP_PHASES[umap.phase]}</span>
            <Meter share={umap.share} label="UMAP" />
            <button type="button" class="tight plain" onClick={umap.stop}>
              Stop
            </button>
          </div>
        )}
        {umap.failure !== null && <p class="notice bad">UMAP failed: {umap.failure}</p>}
        <MapCanvas
          points={umap.points ?? flat}
          looks={looks}
          isLassoing={isLassoing}
          label={`Map of ${compact(sample.items.length)} items. Arrows move, plus and minus zoom, 0 shows all, Enter picks the point nearest to the middle.`}
          nameOf={(point) =>
            field === null ? idOf(point) : `${idOf(point)} · ${valueText(sample.items[point]?.metadata[field] ?? '')}`
          }
          onPoint={(point) => {
            setFocus(point);
            if (point < 0) setLit(NOBODY);
          }}
          onLasso={(points) => {
            setChosen(points);
            setLassoing(false);
          }}
        />
      </section>
      <aside class="stack" aria-label="Beside the map">
        <MapSearch collection={collection.name} onHits={light} />
        {colouring.kind !== 'one' && (
          <Legend field={field ?? ''} colouring={colouring} shown={shownGroups} onShown={setShownGroups} />
        )}
        {focus >= 0 && (
          <FocusPanel
            key={idOf(focus)}
            collection={collection.name}
            item={sample.items[focus] ?? null}
            onNear={light}
            onItem={onItem}
            onPlace={(id) => setFocus(placeOf.get(id) ?? focus)}
            onClose={unfocus}
          />
        )}
        {chosen.length > 0 && <SelectionPanel ids={chosen.map(idOf)} onItem={onItem} onClear={() => setChosen([])} />}
      </aside>
    </div>
  );
}

/** x, y of each point; vectors of one dimension lie on a line. */
function planar({ coordinates, dimensions, items }: Sample): Float32Array {
  if (dimensions === 2) return coordinates;
  const points = new Float32Array(items.length * 2);
  for (let i = 0; i < items.length; i++) {
    points[2 * i] = coordinates[i * dimensions] ?? 0;
    points[2 * i + 1] = dimensions > 1 ? (coordinates[i * dimensions + 1] ?? 0) : 0;
  }
  return points;
}
