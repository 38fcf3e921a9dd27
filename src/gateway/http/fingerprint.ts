import { createHash } from "node:crypto";

/** Members that choose the delivery and not the answer: a client that gives up streaming asks for the same answer without it. */
const delivery = new Set(["stream", "stream_options"]);

/**
 * A digest of the question in a body, per API. Byte-identical repeats have the same digest. The repeat without streaming that Claude
 * Code falls back to has it as well. Source: docs/wire/clients.md, "Silence and repeats".
 */
export function fingerprintOf(dialect: string, body: unknown): string {
  const asked = JSON.stringify(body, (key, value: unknown) => (key === "" ? withoutDelivery(value) : value));
  return createHash("sha256").update(dialect).update("\0").update(asked).digest("hex");
}

function withoutDelivery(body: unknown): unknown {
  if (typeof body !== "object" || body === null) return body;
  return Object.fromEntries(Object.entries(body).filter(([key]) => !delivery.has(key)));
}
