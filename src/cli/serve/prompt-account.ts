import { createHash } from "node:crypto";
import { deadline } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import { parseStatus } from "../../usage/saved-plan.ts";
import type { PromptServers } from "./prompt-servers.ts";

/** How long one answer counts, and how long it is waited for; ms. */
const knownMs = 30_000;
const askMs = 2_000;

/**
 * The account whose plan pays for this machine's prompts, as a digest that is the same on each machine where that person is signed in.
 * It comes from the running language server, else from the plan that the app saved, else from the key of the agent program that is asked. Undefined while
 * no account is known. Never rejects.
 */
export function promptAccount(
  finder: Pick<IdeFinder, "find">,
  servers: Pick<PromptServers, "find" | "findAgent">,
  clock: Pick<Clock, "monotonic">,
): () => Promise<string | undefined> {
  let known: { readonly account: Promise<string | undefined>; readonly atMs: number } | undefined;
  const read = async (): Promise<string | undefined> => {
    const signal = deadline(new AbortController().signal, askMs);
    const told = await orUnknown(async () => (await (await servers.find(signal)).getUserStatus(signal)).email);
    if (told) return digest(told);
    const found = await orUnknown(() => finder.find(signal));
    const saved = (await orUnknown(async () => found?.readSavedPlans?.(signal))) ?? [];
    const texts = saved.flatMap(({ userStatus }) => userStatus ?? []);
    const email = texts.map((text) => parseStatus(text)?.email).find((text) => text);
    if (email) return digest(email);
    const asked = await orUnknown(() => servers.findAgent(signal)); // rejects while the agent in use is away: no other one stands for it
    const agent = asked?.program ?? asked?.result.agents.find(({ signedIn }) => signedIn !== "no");
    const key = await orUnknown(async () => agent?.readApiKey(signal));
    return key === undefined ? undefined : digest(key.reveal());
  };
  return async () => {
    const nowMs = clock.monotonic();
    if (known === undefined || nowMs - known.atMs >= knownMs) known = { account: read(), atMs: nowMs };
    return known.account;
  };
}

async function orUnknown<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch {
    return undefined; // the next source may know it
  }
}

function digest(text: string): string {
  return createHash("sha256").update(`millrace account ${text.toLowerCase()}`).digest("base64url");
}
