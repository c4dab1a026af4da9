import { CopyButton } from '../parts/copy-button';
import { type ConsoleRequest, type Language, LANGUAGES, snippet } from './snippets';

export function SnippetButtons({ request }: { request: ConsoleRequest }) {
  return (
    <>
      {Object.entries(LANGUAGES).map(([language, label]) => (
        <CopyButton key={language} text={snippet(language as Language, request, location.origin)} label={`Copy as ${label}`} isTight />
      ))}
    </>
  );
}
