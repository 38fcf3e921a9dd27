import { Secret } from "../../src/base/secret.ts";
import type { StreamName } from "../../src/log/store.ts";

/** Seals the recorded log. */
export const logKey = Buffer.alloc(32, 7).toString("base64url");

/** The text of the nth delta of a turn, which cannot appear by chance. */
export function deltaOf(turnId: string, n: number): string {
  return `${turnId}:${n} said what it says here. `;
}

/** The nth stream of messages. */
export function streamNamed(n: number): StreamName {
  const key = Buffer.alloc(32, n + 1).toString("base64url");
  return { caller: "caller-1", name: `stream-${n}`, clientKey: new Secret(key) };
}
