import { DocumentTarget } from './documents/document-target';
import { FileTarget } from './files/file-target';
import type { FuzzTarget, TargetName } from './fuzz-target';
import { HttpTarget } from './http/http-target';
import { Http2Target } from './http2/http2-target';
import { ImportTarget } from './imports/import-target';
import { RpcTarget } from './rpc/rpc-target';
import { ThreadTarget } from './threads/thread-target';

/** The target of that name, not started; `environment` goes to every process of it. */
export function openTarget(name: TargetName, environment: Record<string, string> = {}): FuzzTarget {
  switch (name) {
    case 'bodies':
    case 'uploads':
    case 'http':
      return new HttpTarget(name, environment);
    case 'http2':
      return new Http2Target(environment);
    case 'rpc':
      return new RpcTarget(environment);
    case 'files':
      return new FileTarget(environment);
    case 'imports':
      return new ImportTarget(environment);
    case 'documents':
      return new DocumentTarget();
    case 'threads':
      return new ThreadTarget(environment);
  }
}
