/** How many takeovers by other attaches are accepted, before this client assumes that another client uses the stream. */
const overtakingsBorne = 3;

/**
 * Decides whether the attach that took the stream over, or spent its ticket, may be an earlier attach of this client that arrived
 * late (from a lost connection, or from a killed process). The next attach then sends the ticket that both share.
 */
export class Takeovers {
  /** Times in a row, without anything new in between. */
  #times = 0;
  #isOvertaken = false;

  /** Whether the last attach was overtaken, so that the next one brings the ticket before. */
  get isOvertaken(): boolean {
    return this.#isOvertaken;
  }

  /** The gateway refused an attach for this reason. Answers whether another one may mend it. */
  refused(reason: string | undefined): boolean {
    const wasOvertaken = this.#isOvertaken;
    this.#isOvertaken = reason === "superseded" || (reason === "ticket_spent" && !wasOvertaken);
    return this.#isOvertaken && this.#times++ < overtakingsBorne;
  }

  welcomed(): void {
    this.#isOvertaken = false;
  }

  /** Something new came. */
  moved(): void {
    this.#times = 0;
  }
}
