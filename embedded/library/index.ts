export * from '../../clients/typescript/src/index';
export { ClosedError } from './closed-error';
export { EmbeddedQuiver, openQuiver, type OpenOptions } from './open-quiver';
