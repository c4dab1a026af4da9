/** Variants of a search: options of POST /v1/query, with a name. */

export interface Variant {
  /** Empty: it is called by its options. */
  name: string;
  options: Record<string, unknown>;
}

/** As many as an evaluation takes. */
export const VARIANTS_MAX = 16;
/** The service takes no longer name. */
const NAME_MAX = 100;
/** The option of the effort. */
export const EFFORT = 'ef';
/** What a service asks with that is told nothing: by meaning alone. */
const ALPHA_DEFAULT = 1;

export const FUSIONS = {
  rrf: 'rrf: ranks',
  relative: 'relative: scores',
  dbsf: 'dbsf: scores',
  linear: 'linear: scores',
} as const;

/** Options that have fields of their own, and all others. */
export interface VariantFields {
  alpha: number;
  /** Empty: the service's own. */
  fusion: string;
  /** A model; null: none. */
  rerank: string | null;
  /** Lambda of MMR; null: none. */
  diversity: number | null;
  /** null: as it is calibrated. */
  effort: number | null;
  exact: boolean;
  rest: Record<string, unknown>;
}

export function fieldsOf(options: Record<string, unknown>): VariantFields {
  const rest = { ...options };
  /** Takes an option out of the others if a field can show it. */
  const take = <Shown>(name: string, shown: (value: unknown) => Shown | undefined): Shown | undefined => {
    if (!Object.hasOwn(rest, name)) return undefined;
    const value = shown(rest[name]);
    if (value !== undefined) delete rest[name];
    return value;
  };
  return {
    alpha: take('alpha', numberOf) ?? ALPHA_DEFAULT,
    fusion:
      take('fusion', (value) => (typeof value === 'string' && Object.hasOwn(FUSIONS, value) ? value : undefined)) ?? '',
    rerank: take('rerank', (value) => textOf(onlyMember(value, 'model'))) ?? null,
    diversity: take('diversity', (value) => numberOf(onlyMember(value, 'lambda'))) ?? null,
    effort: take(EFFORT, numberOf) ?? null,
    exact: take('exact', (value) => (value === true ? true : undefined)) ?? false,
    rest,
  };
}

/** The options that fields stand for; what the service does by itself is left out. */
export function optionsOf({
  alpha,
  fusion,
  rerank,
  diversity,
  effort,
  exact,
  rest,
}: VariantFields): Variant['options'] {
  return {
    ...(alpha !== ALPHA_DEFAULT && { alpha }),
    ...(fusion !== '' && { fusion }),
    ...(rerank !== null && { rerank: { model: rerank } }),
    ...(diversity !== null && { diversity: { lambda: diversity } }),
    ...(effort !== null && { [EFFORT]: effort }),
    ...(exact && { exact }),
    ...rest,
  };
}

/** What a variant is called, or what it does. */
export function nameOf({ name, options }: Variant): string {
  if (name !== '') return name;
  const { alpha, fusion, rerank, diversity, effort, exact, rest } = fieldsOf(options);
  const isByMode = Object.hasOwn(rest, 'mode');
  const said = [
    isByMode ? '' : alpha === 1 ? 'meaning' : alpha === 0 ? 'keywords' : `alpha ${alpha}`,
    fusion,
    rerank === null ? '' : `rerank ${rerank}`,
    diversity === null ? '' : `diversity ${diversity}`,
    effort === null ? '' : `effort ${effort}`,
    exact ? 'exact' : '',
    ...Object.entries(rest).map(([option, value]) => `${option} ${plain(value)}`),
  ];
  const text = said.filter(Boolean).join(', ');
  return text.length <= NAME_MAX ? text : `${text.slice(0, NAME_MAX - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** As an evaluation takes it, and a file has it. */
export function sentVariant(variant: Variant): Record<string, unknown> {
  return { name: nameOf(variant), ...variant.options };
}

export function readVariant({ name, ...options }: Record<string, unknown>): Variant {
  const read = { name: typeof name === 'string' ? name : '', options };
  // A name that only says the options again would stay when they change.
  return nameOf({ name: '', options }) === read.name ? { ...read, name: '' } : read;
}

/** For the address. */
export function variantsParameter(variants: readonly Variant[]): string {
  return JSON.stringify(variants.map(({ name, options }) => (name === '' ? options : { name, ...options })));
}

/** null: it has none, or somebody changed it by hand. */
export function variantsFromParameter(text: string | null): Variant[] | null {
  try {
    const given = JSON.parse(text ?? 'null') as unknown;
    if (!Array.isArray(given) || given.length === 0) return null;
    return given.every(isObject) ? given.slice(0, VARIANTS_MAX).map(readVariant) : null;
  } catch {
    return null;
  }
}

/** A message of the service about variants, with their names in the place of their numbers. */
export function namedVariants(message: string, variants: readonly Variant[]): string {
  return message.replaceAll(/\bvariants\[(\d+)\](\.)?/g, (all, at: string, dot = '') => {
    const variant = variants[Number(at)];
    return variant === undefined ? all : `“${nameOf(variant)}”${dot === '' ? '' : ': '}`;
  });
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Of an object that has nothing else. */
function onlyMember(value: unknown, name: string): unknown {
  return isObject(value) && Object.keys(value).join() === name ? value[name] : undefined;
}
