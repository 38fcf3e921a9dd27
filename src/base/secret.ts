const redacted = "[redacted]";
const nodeInspect = Symbol.for("nodejs.util.inspect.custom");

/**
 * A credential: the IDE's API key, its CSRF token, the gateway's key. Prints, serialises and inspects as `[redacted]`;
 * `reveal()` is called only where the value goes on the wire. Source: docs/dev/architecture.md, "Principles".
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself. Each call is a place to review. */
  reveal(): string {
    return this.#value;
  }

  /** Whether two secrets hold the same value; takes as long for a near miss as for a far one of the same length. */
  equals(other: Secret): boolean {
    const a = this.#value;
    const b = other.#value;
    let difference = a.length ^ b.length;
    for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i % (b.length || 1));
    return difference === 0;
  }

  toString(): string {
    return redacted;
  }

  toJSON(): string {
    return redacted;
  }

  [nodeInspect](): string {
    return redacted;
  }
}
