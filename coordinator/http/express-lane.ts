import express, { type NextFunction, type Request, type Response } from 'express';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { docsPage } from './docs-page';
import type { Endpoint } from './endpoint';

/** Takes a request on, whatever its path is, and answers it by the pipeline. */
export type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * The Express application: the interactive documentation if `hasDocs`, and the endpoints of the table's express lane.
 * `serve` takes every request on, also those that match nothing, so that there is one way for all.
 */
export function expressLane(endpoints: readonly Endpoint[], serve: Serve, hasDocs: boolean): Serve {
  const app = express();
  // Nothing is compared with the caller's cache, so hashing every answer would be for nothing.
  app.disable('etag');
  app.disable('x-powered-by');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  if (hasDocs) app.use('/docs', docsPage());
  for (const { method, template } of endpoints.filter(({ lane }) => lane === 'express')) {
    app[method.toLowerCase() as Lowercase<Endpoint['method']>](template.replaceAll(/\{(\w+)\}/g, ':$1'), (request, response) => serve(request, response));
  }
  // Or Express would answer OPTIONS by itself.
  app.use((request: Request, response: Response) => serve(request, response));
  return (request, response) => {
    // Paths that Express can't decode, which is the pipeline's to say, after its own checks; and targets that it can't read
    // at all, such as `http://[a`.
    const otherwise: NextFunction = () => {
      if (response.headersSent) response.destroy();
      else serve(request, response);
    };
    app(request as Request, response as Response, otherwise);
  };
}
