/** What scores pairs of a query and a text, as RERANK_MODEL names it. */
export interface RerankModelSetting {
  /** What requests call it. */
  name: string;
  kind: 'cross-encoder' | 'late-interaction' | 'tei' | 'cohere';
  /** A model's name or folder; of a remote one, the address that is called. */
  model: string;
  /** What a remote server calls the model; '': it has one. */
  remoteModel: string;
}

/** What RERANK_MODEL is to be. */
export const RERANK_MODELS_EXPECTED =
  'models separated by commas, each as MODEL, late-interaction:MODEL, NAME=MODEL, NAME=tei:URL or NAME=cohere:URL, with different names';

const ENTRY =
  /^(?:(?<alias>[A-Za-z0-9][A-Za-z0-9._/-]{0,254})=)?(?:(?<kind>late-interaction|tei|cohere):)?(?<model>\S.*)$/;
const NAME_CHARACTERS_MAX = 255;

/** The models of RERANK_MODEL, the default first; null: it is not valid. Empty: none. */
export function rerankModelsIn(setting: string): RerankModelSetting[] | null {
  const models: RerankModelSetting[] = [];
  for (const text of setting.split(',').map((part) => part.trim())) {
    if (text === '') continue;
    const found = modelIn(text);
    if (found === null || models.some(({ name }) => name === found.name)) return null;
    models.push(found);
  }
  return models;
}

/** What requests call the models of a valid RERANK_MODEL. */
export function rerankNamesIn(setting: string): string[] {
  return (rerankModelsIn(setting) ?? []).map(({ name }) => name);
}

function modelIn(text: string): RerankModelSetting | null {
  const { alias, kind = 'cross-encoder', model } = ENTRY.exec(text)?.groups ?? {};
  if (model === undefined) return null;
  if (kind === 'cross-encoder' || kind === 'late-interaction') {
    const name = alias ?? (kind === 'cross-encoder' ? model : text);
    return name.length > NAME_CHARACTERS_MAX || model.includes('=') ? null : { name, kind, model, remoteModel: '' };
  }
  if (alias === undefined || (kind !== 'tei' && kind !== 'cohere') || !URL.canParse(model)) return null;
  const { protocol, hash, username, password } = new URL(model);
  if ((protocol !== 'http:' && protocol !== 'https:') || username !== '' || password !== '') return null;
  const remoteModel = decodedOf(hash.slice(1));
  return remoteModel === null ? null : { name: alias, kind, model: model.replace(/#.*$/s, ''), remoteModel };
}

/** null: a percent sign stands for nothing. */
function decodedOf(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
