import { createHash } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";

/** Members that choose the delivery and not the answer: a client that gives up streaming asks for the same answer without it. */
const delivery = new Set(["stream", "stream_options"]);

/** Characters that are digested in one turn of the event loop: some 5 ms. */
const slice = 1 << 20;

/**
 * A digest of the question in a body, per API. Byte-identical repeats have the same digest. The repeat without streaming that Claude
 * Code falls back to has it as well. Source: docs/wire/clients.md, "Silence and repeats".
 */
export async function fingerprintOf(dialect: string, body: unknown): Promise<string> {
  const hash = createHash("sha256").update(dialect).update("\0");
  let waiting = "";
  for (const text of textsOf(withoutDelivery(body))) {
    waiting += text;
    if (waiting.length < slice) continue;
    hash.update(waiting, "utf16le"); // each character as it is, also half a pair
    waiting = "";
    await nextTurn();
  }
  return hash.update(waiting, "utf16le").digest("hex");
}

/** A value as texts that name no other value when joined: each length stands before what it counts. */
function* textsOf(whole: unknown): Generator<string, void> {
  const rest = [whole];
  while (rest.length > 0) {
    const value = rest.pop();
    if (typeof value === "string") {
      yield `"${value.length}:`;
      for (let at = 0; at < value.length; at += slice) yield value.slice(at, at + slice);
    } else if (Array.isArray(value)) {
      yield `[${value.length}:`;
      for (let i = value.length - 1; i >= 0; i--) rest.push(value[i]);
    } else if (typeof value === "object" && value !== null) {
      const members = Object.entries(value);
      yield `{${members.length}:`;
      for (const [key, member] of members.reverse()) rest.push(member, key);
    } else yield `${String(value)};`;
  }
}

function withoutDelivery(body: unknown): unknown {
  if (typeof body !== "object" || body === null) return body;
  return Object.fromEntries(Object.entries(body).filter(([key]) => !delivery.has(key)));
}
