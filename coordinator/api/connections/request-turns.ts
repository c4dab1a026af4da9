/**
 * Requests that are read from all connections of HTTP/2 of a thread in one turn of the event loop. Of some bytes each,
 * hundreds of them come in one piece, and to open and reset them takes longer than others should wait.
 */
const REQUESTS_A_TURN = 16;

/** Divides what may be read in one turn of the event loop among connections of HTTP/2. */
export class RequestTurns {
  private left = REQUESTS_A_TURN;
  private isTurnAsked = false;
  private readonly waiting: ((requests: number) => void)[] = [];

  /** Whether one more request may be read in this turn. */
  take(): boolean {
    if (this.left === 0) return false;
    this.left -= 1;
    this.askForTurn();
    return true;
  }

  /**
   * Calls `read` in a later turn, with how many requests it may read then, at least one. Connections come in their
   * order, and those of one turn share it equally.
   */
  wait(read: (requests: number) => void): void {
    this.waiting.push(read);
    this.askForTurn();
  }

  private askForTurn(): void {
    if (this.isTurnAsked) return;
    this.isTurnAsked = true;
    setImmediate(() => {
      this.isTurnAsked = false;
      const now = this.waiting.splice(0, REQUESTS_A_TURN);
      const share = Math.floor(REQUESTS_A_TURN / Math.max(1, now.length));
      this.left = REQUESTS_A_TURN - share * now.length;
      if (this.waiting.length > 0) this.askForTurn();
      for (const read of now) read(share);
    });
  }
}
