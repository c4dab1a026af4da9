import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import type { IncomingMessage, ServerResponse } from 'node:http';
import swaggerUi from 'swagger-ui-express';
import type { Endpoint } from './endpoint';

/** Takes a request on, whatever its path is, and answers it by the pipeline. */
export type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** What the page loads comes from this server alone. */
const DOCS_OPTIONS: swaggerUi.SwaggerUiOptions = {
  swaggerUrl: '/openapi.json',
  customSiteTitle: 'Quiver API',
  // `validatorUrl` would have the browser ask a public service for a badge.
  swaggerOptions: { persistAuthorization: true, validatorUrl: null, displayRequestDuration: true },
};

/**
 * The Express application: the interactive documentation, and the endpoints of the table's express lane. `serve` takes
 * every request on, also those that match nothing, so that there is one way for all.
 */
export function expressLane(endpoints: readonly Endpoint[], serve: Serve): express.Express {
  const app = express();
  // Nothing is compared with the caller's cache, so hashing every answer would be for nothing.
  app.disable('etag');
  app.disable('x-powered-by');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.use('/docs', docsOnly(swaggerUi.serve), docsPage());
  for (const { method, template } of endpoints.filter(({ lane }) => lane === 'express')) {
    app[method.toLowerCase() as Lowercase<Endpoint['method']>](template.replaceAll(/\{(\w+)\}/g, ':$1'), (request, response) => serve(request, response));
  }
  app.use((request: Request, response: Response) => serve(request, response));
  // Express refuses paths that it can't decode; what is wrong with them is the pipeline's to say, after its own checks.
  app.use((error: unknown, request: Request, response: Response, next: NextFunction) => {
    if (response.headersSent) next(error);
    else serve(request, response);
  });
  return app;
}

/** Headers that ask for a piece of a file or set conditions, which would be answered with HTTP statuses of their own. */
const PARTIAL_HEADERS = ['range', 'if-range', 'if-match', 'if-unmodified-since'];
/** The explorer's package answers these paths by itself with a bare 404. */
const HIDDEN = /\/package\.json$/;

function docsOnly(handlers: RequestHandler[]): RequestHandler[] {
  return handlers.map((handler) => (request, response, next) => {
    if ((request.method !== 'GET' && request.method !== 'HEAD') || HIDDEN.test(request.path)) {
      next();
      return;
    }
    for (const name of PARTIAL_HEADERS) delete request.headers[name];
    handler(request, response, next);
  });
}

/** The page itself, at /docs/ only: what else lies under /docs is an asset or nothing. */
function docsPage(): RequestHandler {
  const page = swaggerUi.setup(undefined, DOCS_OPTIONS);
  return (request, response, next) => {
    if (request.method === 'GET' && request.path === '/') page(request, response, next);
    else next();
  };
}
