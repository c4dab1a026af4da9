/** A promise of the protocol that a simulated run broke. */
export class Violation extends Error {}
