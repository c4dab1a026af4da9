/**
 * The request with a vector in memory of its own. One from a message or body is a view of all that is there, which
 * would all be copied to another thread.
 */
export function withOwnVector<Request>(request: Request): Request {
  const { vector } = (request ?? {}) as { vector?: unknown };
  if (!(vector instanceof Float32Array) || vector.byteLength === vector.buffer.byteLength) return request;
  return { ...request, vector: vector.slice() };
}
