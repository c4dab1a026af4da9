/** The client hung up before its request was complete, or its answer: there is nobody to answer. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}
