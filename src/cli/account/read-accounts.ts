import { deadline } from "../../base/async.ts";
import { isMillraceError } from "../../base/errors.ts";
import type { Secret } from "../../base/secret.ts";
import { type KeyForm, parseApiKey } from "../../ide/account/api-key.ts";
import type { AgentProgram, DiscoveryResult, Ide, IdeFinder, InstalledApp, SavedPlan } from "../../ide/ide.ts";
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

async function ofRunning(
  finder: IdeFinder,
  ide: Ide,
  found: DiscoveryResult,
  signal: AbortSignal,
): Promise<AccountEntry> {
  const { product, signedIn, identity } = ide;
  const form = formOf(identity.apiKey);
  const entry = {
    ...nobody,
    product,
    what: "editor",
    stand_in: ide.standIn === true,
    pid: ide.pid ?? null,
    signed_in: signedIn,
    signed_in_by: signedIn ? "editor" : null,
    server: ide.apiServer ?? null,
    key_form: form,
    todo: renewing(form, product),
  } as const;
  if (!signedIn) return { ...entry, todo: `Sign in inside ${product}.` };
  try {
    const server = await finder.connect(ide, deadline(signal, askLimitMs));
    const status = await server.getUserStatus(deadline(signal, askLimitMs));
    return { ...entry, ...personOf(status) };
  } catch (error) {
    signal.throwIfAborted();
    if (!isMillraceError(error) || !refusals.has(upstreamReason(error))) {
      const saved = (await found.readSavedPlans?.(signal)) ?? []; // some builds lack the call
      return { ...entry, ...savedPerson(saved, ide.variant) };
    }
    return { ...entry, key_refused: error.message, todo: error.hint };
  }
}

const refusals: ReadonlySet<unknown> = new Set(["api_key_refused", "api_key_missing"]);
const nobody = { pid: null, name: null, plan: null, cascade_denied: false, server: null, key_refused: null } as const;

/** The accounts of apps that do not run, from their files. */
async function ofApps(found: DiscoveryResult, signal: AbortSignal): Promise<readonly AccountEntry[]> {
  const idle = (found.apps ?? []).filter(({ running }) => !running);
  if (idle.length === 0) return [];
  const saved = (await found.readSavedPlans?.(signal)) ?? [];
  return Promise.all(idle.map((app) => ofApp(app, found.agents, saved, signal)));
}

async function ofApp(
  { variant, product, standIn }: InstalledApp,
  agents: readonly AgentProgram[],
  saved: readonly SavedPlan[],
  signal: AbortSignal,
): Promise<AccountEntry> {
  const isSaved = saved.some((one) => one.variant === variant);
  const agent = agents.find((one) => one.variant === variant && one.signedIn === "editor");
  const form = formOf(await agent?.readApiKey(signal));
  const signedIn = isSaved || agent !== undefined;
  return {
    product,
    what: "editor",
    ...nobody,
    stand_in: standIn === true,
    signed_in: signedIn,
    signed_in_by: signedIn ? "editor" : null,
    ...savedPerson(saved, variant),
    key_form: form,
    todo: signedIn ? renewing(form, product) : `Sign in inside ${product}.`,
  };
}

async function ofAgent(
  agent: AgentProgram,
  known: ReadonlyMap<string, AccountEntry | undefined>,
  signal: AbortSignal,
): Promise<AccountEntry> {
  const { product, signedIn } = agent;
  const key = await agent.readApiKey(signal);
  const same = key === undefined ? undefined : known.get(key.reveal());
  const form = formOf(key);
  const isIn = signedIn !== "no";
  return {
    ...nobody,
    ...same,
    product,
    what: "agent program",
    pid: null,
    stand_in: agent.standIn === true,
    signed_in: isIn,
    signed_in_by: isIn ? signedIn : null,
    server: agent.apiServer ?? same?.server ?? null,
    key_form: form,
    todo: isIn
      ? (same?.todo ?? renewing(form, product, signedIn === "own"))
      : "Sign in inside Devin Desktop, or run `devin auth login`.",
  };
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

function formOf(key: Secret | undefined): KeyForm | null {
  return key === undefined ? null : (parseApiKey(key.reveal())?.form ?? null);
}

/** Keys of the oldest form still work in places; new sign-ins get another one. */
function renewing(form: KeyForm | null, product: string, own = false): string | null {
  if (form !== "uuid") return null;
  const how = own ? "Run `devin auth login`" : `Sign out and in again inside ${product}`;
  return `This key has the oldest form. ${how} to get a new one.`;
}
