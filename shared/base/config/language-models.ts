/** What LLM_MODELS is to be. */
export const LLM_MODELS_EXPECTED =
  'names of models separated by commas, one at least where LLM_BASE_URL is set, all different';
/** What LLM_BASE_URL is to be. */
export const LLM_URL_EXPECTED =
  'http:// or https:// with a host and a path, as https://api.example.com/v1, and nothing else';

const NAME_CHARACTERS_MAX = 255;

/** The models of LLM_MODELS, the default first; null: it is not valid. Empty: none. */
export function languageModelsIn(setting: string): string[] | null {
  const names = setting
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const isValid = new Set(names).size === names.length && names.every((name) => name.length <= NAME_CHARACTERS_MAX);
  return isValid ? names : null;
}

/** The address of chat completions under LLM_BASE_URL; null: that is not valid. */
export function llmUrlIn(setting: string): string | null {
  if (!URL.canParse(setting)) return null;
  const { protocol, username, password, search, hash, origin, pathname } = new URL(setting);
  if ((protocol !== 'http:' && protocol !== 'https:') || username !== '' || password !== '') return null;
  if (search !== '' || hash !== '') return null;
  return `${origin}${pathname.replace(/(?<!\/)\/+$/, '')}/chat/completions`;
}
