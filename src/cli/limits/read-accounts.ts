import { deadline } from "../../base/async.ts";
import { isMillraceError } from "../../base/errors.ts";
import type { Secret } from "../../base/secret.ts";
import { type KeyForm, parseApiKey } from "../../ide/account/api-key.ts";
import type { AgentProgram, DiscoveryResult, Ide, IdeFinder, SavedPlan } from "../../ide/ide.ts";
import { isCascadeDenied } from "../../language-server/cascade-access.ts";
import { upstreamReason } from "../../language-server/errors/errors.ts";
import type { UserStatus } from "../../proto/windsurf/exa/codeium_common_pb.ts";
import { parseStatus } from "../../usage/saved-plan.ts";

/** The account of one product. Unknown values are null. It has no key. */
export interface AccountEntry {
  readonly product: string;
  readonly what: "editor" | "agent program";
  /** Of `millrace simulate`. */
  readonly stand_in: boolean;
  /** The process of an editor's server; null where it does not run. */
  readonly pid: number | null;
  readonly signed_in: boolean;
  /** `own`: credentials of the program's own; `editor`: the key of the app; null where no account is signed in. */
  readonly signed_in_by: "own" | "editor" | null;
  readonly name: string | null;
  readonly plan: string | null;
  /** Its plan allows the agent programs, and not Cascade. */
  readonly cascade_denied: boolean;
  /** Host name of the vendor's server that the account belongs to: it shows the region. */
  readonly server: string | null;
  readonly key_form: KeyForm | null;
  /** Why the server refused the key; null where it did not, or was not asked. */
  readonly key_refused: string | null;
  /** The user's next step; null where all is well. */
  readonly todo: string | null;
}

const askLimitMs = 10_000;

/** Reads the account of each installed editor and agent program. Asks the running language servers, and starts nothing. */
export async function readAccounts(finder: IdeFinder, signal: AbortSignal): Promise<readonly AccountEntry[]> {
  const found = await finder.find(signal);
  const running = found.ides.filter(({ variant }) => variant !== "antigravity");
  const editors = await Promise.all(running.map((ide) => ofRunning(finder, ide, found, signal)));
  const apps = await ofApps(found, signal);
  const known = new Map(
    running.map(({ identity }, index) => [identity.apiKey.reveal(), editors[index]] as const), // compared, never shown
  );
  const agents = await Promise.all(found.agents.map((agent) => ofAgent(agent, known, signal)));
  return [...editors, ...apps, ...agents];
}

/** An account before anything is asked; `by` null where no account is signed in. */
function entryOf(
  what: AccountEntry["what"],
  { product, standIn }: Pick<Ide, "product" | "standIn">,
  by: AccountEntry["signed_in_by"],
  key: Secret | undefined,
): AccountEntry {
  const form = key === undefined ? null : (parseApiKey(key.reveal())?.form ?? null);
  const where = what === "editor" ? `inside ${product}` : "inside Devin Desktop, or run `devin auth login`";
  return {
    product,
    what,
    stand_in: standIn === true,
    pid: null,
    signed_in: by !== null,
    signed_in_by: by,
    name: null,
    plan: null,
    cascade_denied: false,
    server: null,
    key_form: form,
    key_refused: null,
    todo: by === null ? `Sign in ${where}.` : renewing(form, product, by === "own"),
  };
}

async function ofRunning(
  finder: IdeFinder,
  ide: Ide,
  found: DiscoveryResult,
  signal: AbortSignal,
): Promise<AccountEntry> {
  const known = entryOf("editor", ide, ide.signedIn ? "editor" : null, ide.identity.apiKey);
  const entry = { ...known, pid: ide.pid ?? null, server: ide.apiServer ?? null };
  if (!ide.signedIn) return entry;
  try {
    const server = await finder.connect(ide, deadline(signal, askLimitMs));
    const status = await server.getUserStatus(deadline(signal, askLimitMs));
    return { ...entry, ...personOf(status) };
  } catch (error) {
    signal.throwIfAborted();
    if (isMillraceError(error) && refusals.has(upstreamReason(error)))
      return { ...entry, key_refused: error.message, todo: error.hint };
    const saved = (await found.readSavedPlans?.(signal)) ?? []; // some builds lack the call
    return { ...entry, ...savedPerson(saved, ide.variant) };
  }
}

const refusals: ReadonlySet<unknown> = new Set(["api_key_refused", "api_key_missing"]);

/** The accounts of apps that do not run, from their files. */
async function ofApps(found: DiscoveryResult, signal: AbortSignal): Promise<readonly AccountEntry[]> {
  const idle = (found.apps ?? []).filter(({ running }) => !running);
  if (idle.length === 0) return [];
  const saved = (await found.readSavedPlans?.(signal)) ?? [];
  return Promise.all(
    idle.map(async (app) => {
      const { variant } = app;
      const agent = found.agents.find((one) => one.variant === variant && one.signedIn === "editor");
      const isIn = agent !== undefined || saved.some((one) => one.variant === variant);
      const entry = entryOf("editor", app, isIn ? "editor" : null, await agent?.readApiKey(signal));
      return { ...entry, ...savedPerson(saved, variant) };
    }),
  );
}

/** `known`: the accounts of running editors, by their keys. An agent with the key of one has its account. */
async function ofAgent(
  agent: AgentProgram,
  known: ReadonlyMap<string, AccountEntry | undefined>,
  signal: AbortSignal,
): Promise<AccountEntry> {
  const key = await agent.readApiKey(signal);
  const same = key === undefined ? undefined : known.get(key.reveal());
  const entry = entryOf("agent program", agent, agent.signedIn === "no" ? null : agent.signedIn, key);
  const { name, plan, cascade_denied, key_refused } = same ?? entry;
  const todo = entry.signed_in ? (same?.todo ?? entry.todo) : entry.todo;
  return { ...entry, name, plan, cascade_denied, key_refused, server: agent.apiServer ?? same?.server ?? null, todo };
}

/** The account that is signed in to the app, from the plan that the app saved. */
function savedPerson(saved: readonly SavedPlan[], variant: Ide["variant"]): Partial<ReturnType<typeof personOf>> {
  const text = saved.find((one) => one.variant === variant)?.userStatus;
  const status = text === undefined ? undefined : parseStatus(text);
  return status === undefined ? {} : personOf(status);
}

function personOf(status: UserStatus): Pick<AccountEntry, "name" | "plan" | "cascade_denied"> {
  const { name, planStatus } = status;
  return {
    name: name || null,
    plan: planStatus?.planInfo?.planName || null,
    cascade_denied: isCascadeDenied(status),
  };
}

/** Keys of the oldest form still work in places; new sign-ins get another one. */
function renewing(form: KeyForm | null, product: string, own: boolean): string | null {
  if (form !== "uuid") return null;
  const how = own ? "Run `devin auth login`" : `Sign out and in again inside ${product}`;
  return `This key has the oldest form. ${how} to get a new one.`;
}
