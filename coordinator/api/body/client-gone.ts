/** The client disconnected before its request was complete or its answer was sent, so there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}
