import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { SwaggerUiOptions } from 'swagger-ui-express';
import { type BasePath, PREFIX_HEADER } from '../requests/base-path';
import type { RequestTarget } from '../requests/request-target';

/** The page loads everything from this server. */
const OPTIONS: SwaggerUiOptions = {
  // From the page at /docs/, wherever a proxy has that.
  swaggerUrl: '../openapi.json',
  // With a `validatorUrl`, the browser would ask a public service for a badge. The default layout adds a bar that loads
  // other documents, and has a logo with inline styles.
  swaggerOptions: {
    layout: 'BaseLayout',
    persistAuthorization: false,
    validatorUrl: null,
    displayRequestDuration: true,
  },
};

/**
 * The package's own page has inline styles, which the policy below forbids. This page uses the files of
 * swagger-ui-dist.
 */
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
<script src="./forget-keys.js"></script>
<script src="./swagger-ui-bundle.js"></script>
<script src="./swagger-ui-standalone-preset.js"></script>
<script src="./swagger-ui-init.js"></script>
</body>
</html>
`;

/** Earlier versions kept a key in the browser for good; this takes it away. */
const FORGET_KEYS = "try { localStorage.removeItem('authorized'); } catch {}\n";

/**
 * Headers for everything that a browser may show: it may run and load only files of this server and connect only to it;
 * nobody may frame it; and no file is taken for another type. The explorer's icons are data URLs.
 */
const BROWSER_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

/** Headers that ask for a part of a file or set conditions. They would be answered with HTTP statuses of their own. */
const PARTIAL_HEADERS = ['range', 'if-range', 'if-match', 'if-unmodified-since'];
/** The explorer's package answers these paths itself, with a bare 404. */
const HIDDEN = /\/package\.json$/;

/**
 * Answers requests under /docs: the explorer's files, and the page itself, at /docs/ only. Other paths go to
 * `otherwise`. It takes a tenth of a start, so it is made for the first request.
 */
export function docsPage(
  basePath: BasePath,
): (
  request: IncomingMessage,
  response: ServerResponse,
  target: Pick<RequestTarget, 'segments'>,
  otherwise: () => void,
) => void {
  const express = require('express') as typeof import('express');
  const swaggerUi = require('swagger-ui-express') as typeof import('swagger-ui-express');
  const app = express();
  app.disable('etag');
  app.disable('x-powered-by');
  // Creates the script that starts the explorer; `serve` delivers it. The page around it is our own.
  swaggerUi.generateHTML(undefined, OPTIONS);
  const secure: RequestHandler = (_request, response, next) => {
    response.set(BROWSER_HEADERS);
    next();
  };
  const page: RequestHandler = (request, response, next) => {
    if (request.method === 'GET' && request.path === '/') response.type('html').send(PAGE);
    else if (request.method === 'GET' && request.path === '/forget-keys.js') response.type('js').send(FORGET_KEYS);
    else next();
  };
  app.use('/docs', secure, ...filesOnly(swaggerUi.serve), page);
  // With no route, Express hands on OPTIONS too. It ends here as well when it can't decode a path.
  return (request, response, { segments }, otherwise) => {
    if (segments.length === 1 && (request.method === 'GET' || request.method === 'HEAD')) {
      response
        .writeHead(301, {
          ...BROWSER_HEADERS,
          ...(basePath.dependsOnProxy && { vary: PREFIX_HEADER }),
          location: `${basePath.of(request)}/${segments[0]}/`,
          'content-length': 0,
        })
        .end();
      return;
    }
    request.url = `/${segments.join('/')}`;
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
