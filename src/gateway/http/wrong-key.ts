import type { Secret } from "../../base/secret.ts";
import { type FoundKey, type GuardPolicy, keysOf } from "./guard.ts";
import { Refusal } from "./refusal.ts";

/** Two sentences for each kind of wrong key: what is wrong, and the next step of the person who has it. */
type Sentences = readonly [message: string, hint: string];

const ofOwner = "`millrace keys --value` prints the owner's key, in the MILLRACE_HOME of this gateway.";
const askOwner = "Ask the owner of this gateway for a new key.";

const none: Sentences = [
  "The request has no key.",
  `Send \`Authorization: Bearer <key>\` or \`x-api-key\`. ${ofOwner}`,
];
const noBearer: Sentences = [
  "The Authorization header has no bearer key.",
  `Write \`Authorization: Bearer <key>\`. ${ofOwner}`,
];
const placeholder: Sentences = [
  "The key is a placeholder, such as the name of a variable.",
  `The program that sent it did not put the key in its place. ${ofOwner}`,
];
const cut: Sentences = [
  "The key is not whole: after `mr_` or `mrk_` come 43 characters.",
  "Copy the whole key, without quotes and spaces.",
];
const replaced: Sentences = [
  "The key was replaced: it is the owner's key before `millrace keys --new`.",
  `Use the new one. ${ofOwner}`,
];
const unknown: Sentences = [
  "This gateway does not know the key. It may be the key of another home, machine or service.",
  ofOwner,
];
const ofEndedRun: Sentences = [
  "The key was of a `millrace run`, which has ended.",
  "Start the program again with `millrace run`.",
];
const unknownIssued: Sentences = [unknown[0], `${askOwner} \`millrace keys create <name>\` makes one.`];
const unreadable: Sentences = [
  "This gateway cannot read its list of keys now, so only the owner's key opens it.",
  "Ask the owner of this gateway: `millrace keys` says what is wrong with the list.",
];

/** The error for a request whose keys do not open the gateway. If it has several, the one that tells most counts. */
export function unauthenticated(policy: GuardPolicy, headers: Headers): Refusal {
  const keys = keysOf(headers);
  if (keys.some((key) => policy.issued?.(key) === "awaited")) {
    const message = "The gateway has just started, and the run of this key has not come back to it yet.";
    return new Refusal("not_back", message, { retryAfterMs: 1_000 });
  }
  const found = keys.map((key) => wrongKey(policy, key)).toSorted((a, b) => a.rank - b.rank)[0];
  const atDoor = policy.door?.key();
  const [message, hint] =
    (atDoor && ended(atDoor)) ?? found?.says ?? (headers.get("authorization")?.trim() ? noBearer : none);
  return new Refusal("no_key", message, {
    hint,
    headers: { "www-authenticate": 'Bearer realm="millrace"' },
  });
}

function wrongKey(policy: GuardPolicy, key: Secret): { readonly rank: number; readonly says: Sentences } {
  const text = key.reveal();
  const found = policy.issued?.(key);
  if (typeof found === "object") return { rank: 0, says: ended(found) };
  const isFirst = policy.keys[0]?.key.equals(key) === true;
  if (isFirst) return { rank: 0, says: replaced };
  const isIssued = text.startsWith("mrk_");
  if (/^mrr_[\w-]{43}$/.test(text)) return { rank: 1, says: ofEndedRun };
  if (/^mrk?_[\w-]{43}$/.test(text)) {
    if (isIssued && found === "unreadable") return { rank: 1, says: unreadable };
    return { rank: 1, says: isIssued ? unknownIssued : unknown };
  }
  if (/^["'`]?mr[kr]?_/.test(text)) return { rank: 2, says: cut };
  return /^[$<%{]/.test(text) ? { rank: 3, says: placeholder } : { rank: 4, says: unknown };
}

function ended({ caller: { name }, state, endedAtMs = 0 }: FoundKey): Sentences {
  const at = new Date(endedAtMs).toISOString();
  if (state === "revoked") return [`The key ${name} was revoked at ${at}.`, askOwner];
  const again = `The owner types \`millrace keys revoke ${name}\`, then \`millrace keys create ${name}\`.`;
  return [`The key ${name} expired at ${at}.`, `${askOwner} ${again}`];
}
