import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import swaggerUi from 'swagger-ui-express';

/** What the page loads comes from this server alone. */
const OPTIONS: swaggerUi.SwaggerUiOptions = {
  swaggerUrl: '/openapi.json',
  // `validatorUrl` would have the browser ask a public service for a badge. The usual layout adds a bar that loads other
  // documents, and whose logo has its styles in it.
  swaggerOptions: { layout: 'BaseLayout', persistAuthorization: true, validatorUrl: null, displayRequestDuration: true },
};

/** The package's own page has its styles in it, which the policy below forbids; these are the files of swagger-ui-dist. */
const PAGE = `<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="UTF-8">
  <title>Quiver API</title>
  <link rel="stylesheet" href="./swagger-ui.css">
  <link rel="stylesheet" href="./index.css">
  <link rel="icon" type="image/png" href="./favicon-32x32.png" sizes="32x32">
  <link rel="icon" type="image/png" href="./favicon-16x16.png" sizes="16x16">
</head>
<body>
<div id="swagger-ui"></div>
<script src="./swagger-ui-bundle.js"></script>
<script src="./swagger-ui-standalone-preset.js"></script>
<script src="./swagger-ui-init.js"></script>
</body>
</html>
`;

/**
 * Headers of all that a browser may show: nothing runs, loads or connects but what this server sent as a file of its own,
 * nobody frames it, and nothing is taken for another type than it is. The explorer draws its icons from data URLs.
 */
const BROWSER_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

/** Headers that ask for a piece of a file or set conditions, which would be answered with HTTP statuses of their own. */
const PARTIAL_HEADERS = ['range', 'if-range', 'if-match', 'if-unmodified-since'];
/** The explorer's package answers these paths by itself with a bare 404. */
const HIDDEN = /\/package\.json$/;

/**
 * Answers requests under /docs: the explorer's files, and the page itself at /docs/ only. What is none of these goes to
 * `otherwise`.
 */
export function docsPage(): (request: IncomingMessage, response: ServerResponse, otherwise: () => void) => void {
  const app = express();
  app.disable('etag');
  app.disable('x-powered-by');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  // Makes the script that starts the explorer, which `serve` gives out; the page around it is our own.
  swaggerUi.generateHTML(undefined, OPTIONS);
  const secure: RequestHandler = (_request, response, next) => {
    response.set(BROWSER_HEADERS);
    next();
  };
  const page: RequestHandler = (request, response, next) => {
    if (request.method === 'GET' && request.path === '/') response.type('html').send(PAGE);
    else next();
  };
  app.use('/docs', secure, ...filesOnly(swaggerUi.serve), page);
  // With no route, Express hands on OPTIONS too. It ends here as well when it can't decode a path.
  return (request, response, otherwise) => {
    const leftOver: NextFunction = () => {
      if (response.headersSent) response.destroy();
      else otherwise();
    };
    app(request as Request, response as Response, leftOver);
  };
}

function filesOnly(handlers: RequestHandler[]): RequestHandler[] {
  return handlers.map((handler) => (request, response, next) => {
    if ((request.method !== 'GET' && request.method !== 'HEAD') || HIDDEN.test(request.path)) {
      next();
      return;
    }
    for (const name of PARTIAL_HEADERS) delete request.headers[name];
    handler(request, response, next);
  });
}
