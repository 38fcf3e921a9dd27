import { MillraceError } from "../../base/errors.ts";
import { productToday } from "../../base/ide-name.ts";
import { chooseAgent } from "../../ide/apps/choose-agent.ts";
import type { DiscoveryResult, Ide } from "../../ide/ide.ts";
import { nearestMiss } from "../../ide/process/near-miss.ts";
import { productName } from "../../language-server/product-name.ts";
import type { IdeInUse } from "./ide-in-use.ts";

/** The IDE, where the user did not name its address. */
export function foundByItself(ide: Ide | undefined): Ide | undefined {
  return ide?.pid === undefined ? undefined : ide;
}

/**
 * Windsurf before Windsurf Next, newest first, signed in; never Antigravity. A stand-in is chosen only if no real IDE runs: the user
 * names a stand-in by its home, pid or address, and then the result holds no other.
 *
 * @throws MillraceError `ide_not_running` or `not_signed_in`, with the places where discovery looked in its details.
 */
export function choosePrompted(result: DiscoveryResult): Ide {
  const ide = chosenIde(result);
  if (ide !== undefined) return ide;
  throw withoutServer(result);
}

/** Why an IDE that runs without an account cannot be used, and the next step. The account of a remote window is where the window is. */
export function spellSignedOut({ product, isRemote }: Pick<Ide, "product" | "isRemote">) {
  if (isRemote !== true)
    return { what: `${product} runs, but no account is signed in there`, todo: "Sign in inside the IDE." };
  return {
    what: `${product} runs here for a remote window, and its account is on the side where you see that window`,
    todo: "Install the Devin CLI on this side and run `devin auth login`, or run Millrace on the other side. Or name the server and a file with its token and the key: `--endpoint`, `--token-file` (docs/help.md, Remote windows).",
  };
}

/** The IDE that prompts go to by this discovery; undefined where none is signed in. */
export function chosenIde(result: Pick<DiscoveryResult, "ides">): Ide | undefined {
  return promptable(result).find(({ signedIn }) => signedIn);
}

export function promptable({ ides }: Pick<DiscoveryResult, "ides">): readonly Ide[] {
  return realFirst(ides.filter(({ variant }) => variant !== "antigravity"));
}

/** Without the stand-ins, if any real IDE is among them. */
export function realFirst(ides: readonly Ide[]): readonly Ide[] {
  const real = ides.filter(({ standIn }) => standIn !== true);
  return real.length > 0 ? real : ides;
}

/** The product's name for the user; the name of a stand-in includes that fact. */
export function nameWithKind({ product, standIn }: Pick<IdeInUse, "product"> & { readonly standIn?: boolean }): string {
  return standIn === true ? `${product}, a stand-in` : product;
}

/**
 * Which IDE prompts to a language server go to and why, as a line for a person; undefined where none can be asked. `named`: how the
 * user named an IDE.
 */
export function spellChosenIde(
  result: DiscoveryResult,
  named: { readonly pid?: unknown; readonly home?: unknown; readonly plan?: string | undefined } = {},
): string | undefined {
  const candidates = promptable(result);
  const chosen = chosenIde(result);
  if (chosen === undefined) return undefined;
  const all = result.ides.filter(({ variant }) => variant !== "antigravity");
  const others = all.length - 1;
  const left = all.length - candidates.length;
  const stopped = left === 0 ? "" : `; ${left} stand-in${left === 1 ? "" : "s"} left out`;
  const alone =
    named.pid !== undefined
      ? "the one that --pid names"
      : named.home === undefined
        ? "the only one that runs"
        : "the only one in the home that --home names";
  const why = others === 0 ? alone : `the first of ${all.length}: by product, then the newest${stopped}`;
  const process = chosen.pid === undefined ? "set by hand" : `pid ${chosen.pid}`;
  return `${nameWithKind(chosen)} (${named.plan === undefined ? "" : `${named.plan}, `}${process}): ${why}`;
}

/** The error where neither a language server nor an agent program can be asked here. */
export function withoutServer(result: DiscoveryResult): MillraceError {
  const { code, what, todo } = whyNone(result);
  return new MillraceError(code, `${what}.`, { hint: todo, details: lookedAt(result) });
}

/** The last sentence of a next step, for all but doctor. */
export const seeDoctor = " `millrace doctor` shows where Millrace looked.";

interface WhyNone {
  readonly code: "ide_not_running" | "not_signed_in";
  readonly what: string;
  readonly todo: string;
}

/** Why no language server can be asked here, and the next step, by the name of today's product. */
export function whyNone(result: DiscoveryResult): WhyNone {
  const code = "ide_not_running";
  const [signedOut] = promptable(result);
  if (signedOut !== undefined) return { code: "not_signed_in", ...spellSignedOut(signedOut) };
  const miss = nearestMiss(result.trace);
  if (miss !== undefined) {
    const { subject, variant, why, todo } = miss;
    const app = result.apps?.find((one) => one.running && one.variant === variant);
    const what = `${app?.product ?? productName(variant, "")} runs (${subject}), but cannot be used: ${why}`;
    return { code, what, todo: todo + seeDoctor };
  }
  const chosen = chooseAgent(result);
  if (chosen !== undefined) {
    const what = `No language server is running. Only the agent of ${chosen.agent.product} can be used`;
    return {
      code,
      what,
      todo: "Leave `--backend` at `auto`, or set it to `acp`. Or start the app and open a folder.",
    };
  }
  const installed = whyInstalledIsNoUse(result);
  if (installed !== undefined) return installed;
  if (result.ides.length > 0) {
    const what = "Only Antigravity is running. Millrace shows its limits, but sends it no prompts";
    return { code, what, todo: `Start ${productToday} and open a folder.` };
  }
  return {
    code,
    what: `${productToday} does not run here, and no \`devin\` program was found`,
    todo: `Start Devin Desktop and open a folder, or install the Devin CLI and run \`devin auth login\`.${seeDoctor}`,
  };
}

/** Why an installed program cannot be used; undefined if none is installed and the list of processes could be read. */
function whyInstalledIsNoUse({ agents, apps = [], trace }: DiscoveryResult): WhyNone | undefined {
  const cli = agents.find(({ from }) => from === "cli");
  const app = apps.find(({ running }) => running) ?? apps[0];
  const unseen = trace.find(({ rule, verdict }) => rule === "processes" && verdict === "rejected");
  if (unseen !== undefined && agents.length === 0) {
    return {
      code: "ide_not_running",
      what: `Millrace cannot see which programs run here, so it found no language server: ${unseen.why}`,
      todo: "Install the Devin CLI and run `devin auth login`, or set MILLRACE_IDE_ENDPOINT and MILLRACE_IDE_TOKEN_FILE (docs/reference.md).",
    };
  }
  if (app !== undefined && !app.running && agents.length === 0) {
    // a build without an agent program: only its running server knows the account
    const what = `${app.product} is installed, but does not run`;
    return { code: "ide_not_running", what, todo: "Start it, sign in and open a folder." };
  }
  if (app !== undefined) {
    const state = app.running
      ? "runs, but its language server was not found and"
      : "is installed, but does not run, and";
    const login = cli === undefined ? "" : " Or run `devin auth login`.";
    const what = `${app.product} ${state} no account is signed in`;
    return { code: "not_signed_in", what, todo: `Start Devin Desktop, sign in and open a folder.${login}` };
  }
  if (cli === undefined) return undefined;
  const what = `The Devin CLI is installed (${cli.path}), but no account is signed in`;
  return { code: "not_signed_in", what, todo: "Run `devin auth login`, then try again." };
}

/** Where discovery looked, for the details of an error. */
export function lookedAt({ trace }: DiscoveryResult) {
  return {
    looked_at: trace.map(({ stage, subject, rule, verdict, why }) => ({ stage, subject, rule, verdict, why })),
  };
}
