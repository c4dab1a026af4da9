import { BASE } from '../api/base';
import { CopyButton } from '../parts/copy-button';
import { session } from '../state/session';
import { type ConsoleRequest, type Language, LANGUAGES, snippet } from './snippets';

export function SnippetButtons({ request }: { request: ConsoleRequest }) {
  const isByToken = session.value?.keyId === null;
  return (
    <>
      {Object.entries(LANGUAGES).map(([language, label]) => (
        <CopyButton
          key={language}
          text={snippet(language as Language, { ...request, isByToken }, location.origin + BASE)}
          label={`Copy as ${label}`}
          isTight
        />
      ))}
    </>
  );
}
