import { languageModelsIn, llmUrlIn } from '../../../shared/base/config/language-models';
import type { Config } from '../../../shared/base/config/config';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { ChatRequest, ChatStream, LanguageModels } from './language-model';
import { type ChatProvider, OpenAiChat } from './openai-chat';

/** The language models of the configuration. */
export class ConfiguredModels implements LanguageModels {
  private readonly open = new Set<ChatStream>();

  constructor(private readonly options: ChatProvider & { callsMax: number }) {}

  async chat(request: ChatRequest): Promise<ChatStream> {
    const { callsMax } = this.options;
    if (this.open.size >= callsMax)
      throw new QuiverError(
        'overloaded',
        `the language model has ${callsMax} calls under way (LLM_CALLS); try again later`,
      );
    const stream: ChatStream = new OpenAiChat(this.options, request, () => this.open.delete(stream));
    this.open.add(stream);
    return stream;
  }

  /** Ends all calls. */
  async close(): Promise<void> {
    await Promise.all([...this.open].map((stream) => stream.return()));
  }
}

/** Where there is no language model, it is not to be called. */
export function configuredModels(
  config: Pick<Config, 'llmBaseUrl' | 'llmApiKey' | 'llmTimeoutMs' | 'llmCalls'>,
): ConfiguredModels {
  return new ConfiguredModels({
    url: llmUrlIn(config.llmBaseUrl) ?? '',
    apiKey: config.llmApiKey ?? '',
    timeoutMs: config.llmTimeoutMs,
    callsMax: config.llmCalls,
  });
}

/** The model that a request means, the first one if it names none. Errors: invalid_parameter. */
export function languageModelOf(
  { llmBaseUrl, llmModels }: Pick<Config, 'llmBaseUrl' | 'llmModels'>,
  asked: string | undefined,
): string {
  if (llmBaseUrl === '')
    throw new QuiverError('invalid_parameter', 'there is no language model: LLM_BASE_URL is not set');
  const names = languageModelsIn(llmModels) ?? [];
  const name = asked ?? names[0];
  if (names.includes(name)) return name;
  throw new QuiverError(
    'invalid_parameter',
    `there is no language model ${JSON.stringify(asked)}; there are: ${names.join(', ')} (LLM_MODELS)`,
  );
}
