import { orAborted } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { EventSink } from "../../base/emitter.ts";
import { MillraceError } from "../../base/errors.ts";
import type { LanguageServer } from "../../language-server/language-server.ts";
import { type Endpoint, type IdeIdentity, promptedVariants } from "../../language-server/transport/endpoint.ts";
import type { CheckHolder } from "../../language-server/transport/open-socket.ts";
import { readSavedPlan } from "../account/saved-plan.ts";
import type { Host, HostResult } from "../host/host.ts";
import type { DiscoveryResult, Ide, IdeFinder, SavedPlan } from "../ide.ts";
import type { IdeLifecycle } from "../lifecycle.ts";
import { openLinks } from "../links.ts";
import type { Probe } from "../process/probe-port.ts";
import { sharedCheck } from "../process/shared-check.ts";
import { verifyHolder } from "../process/verify-holder.ts";
import { type Discovery, discover } from "./discover.ts";
import { type LastGood, strangerKey } from "./discover-options.ts";
import type { IdeOverrides } from "./overrides.ts";

export interface IdeFinderOptions {
  readonly host: Host;
  readonly clock: Clock;
  /** Asks one port. */
  readonly probe: Probe;
  /** Opens a client. It sends nothing until it is called, and nothing over a connection before `checkHolder` let it pass. */
  readonly connect: (endpoint: Endpoint, identity: IdeIdentity, checkHolder: CheckHolder) => LanguageServer;
  readonly overrides: IdeOverrides;
  readonly events?: EventSink<IdeLifecycle>;
}

/** How long a result with an IDE is believed: no process scan more often than this while all is well. */
const believedMs = 30_000;
/** The shortest time between the starts of two scans, even after a failure. */
const shortestGapMs = 1_000;
/** How long a check of who holds the port is believed where checking starts other programs and the process still lives. */
const checkBelievedMs = 10_000;
/** A wall clock that moved this much more than the steady one means the machine slept. */
const sleepMarkMs = 5_000;

interface KnownResult {
  readonly result: DiscoveryResult;
  readonly wallMs: number;
  readonly steadyMs: number;
}

/**
 * Opens the one finder of a gateway. Callers that ask during a scan share it. A result with an IDE, or with an agent that is
 * signed in, is believed for 30 s unless a call failed, its process or program is gone, or the machine slept; any other result for a
 * second. No scan runs without a caller. Rows in `docs/dev/turn-machine.md`: discovery after a failed call.
 */
export function openIdeFinder(options: IdeFinderOptions): IdeFinder {
  const { host, clock } = options;
  const closing = new AbortController();
  const lastGood = new Map<string, LastGood>();
  const strangers = new Set<string>();
  const hopeless = new Set<string>();
  const links = openLinks(
    (ide) =>
      options.connect(
        ide.endpoint,
        ide.identity,
        sharedCheck(() => mustHold(ide)),
      ),
    (pid) => host.isAlive(pid),
  );
  /** The IDE that the user named by its process, as it was found last. */
  let named: Ide | undefined;
  let known: KnownResult | undefined;
  /** The IDEs of the last scan, also when its result is no longer believed. */
  let seen: readonly Ide[] = [];
  let scanning: Promise<DiscoveryResult> | undefined;
  let lastStartMs = Number.NEGATIVE_INFINITY;
  /** When each server was last seen to hold its port, by `Ide.id`; steady ms. */
  let checked = new Map<string, number>();

  function believed(): DiscoveryResult | undefined {
    if (known === undefined) return undefined;
    const wall = clock.now() - known.wallMs;
    const steady = clock.monotonic() - known.steadyMs;
    if (wall - steady > sleepMarkMs || wall < -sleepMarkMs) return undefined;
    const { ides, agents } = known.result;
    if (ides.some((ide) => ide.pid !== undefined && !host.isAlive(ide.pid))) return undefined;
    const serves = ides.length > 0 || agents.some(({ signedIn }) => signedIn !== "no");
    return steady < (serves ? believedMs : shortestGapMs) ? known.result : undefined;
  }

  async function scan(): Promise<DiscoveryResult> {
    const wait = lastStartMs + shortestGapMs - clock.monotonic();
    if (wait > 0) await clock.sleep(wait, closing.signal);
    lastStartMs = clock.monotonic();
    const { ides, agents, apps, stateFileOf, trace } = await discover(
      { host, clock, probe: options.probe, overrides: options.overrides, lastGood, hopeless, strangers, named },
      closing.signal,
    );
    if (options.overrides.pid !== undefined) named = ides[0] ?? named;
    for (const ide of ides) {
      const { id, endpoint, answeredInMs: tookMs = 0 } = ide;
      lastGood.set(id, { token: endpoint.csrfToken, port: endpoint.port, tookMs });
    }
    for (const id of lastGood.keys()) if (!ides.some((ide) => ide.id === id) && lastGood.size > 16) lastGood.delete(id);
    const result: DiscoveryResult = {
      ides,
      agents,
      apps,
      readSavedPlans: (signal) => savedPlans({ ides, apps, stateFileOf }, signal),
      trace: trace.entries,
      atMs: clock.now(),
    };
    known = { result, wallMs: result.atMs, steadyMs: clock.monotonic() };
    checked = new Map(ides.map((ide) => [ide.id, clock.monotonic()]));
    links.keepOnly(ides);
    tellChanges(ides);
    return result;
  }

  /** Reports which IDEs came and went since the last scan. A restarted IDE counts as another one. */
  function tellChanges(ides: readonly Ide[]): void {
    const before = seen;
    seen = ides;
    for (const ide of before) if (!ides.some(({ id }) => id === ide.id)) options.events?.emit("ide_lost", ide);
    for (const ide of ides) if (!before.some(({ id }) => id === ide.id)) options.events?.emit("ide_found", ide);
  }

  /** One of each variant: of the IDE that runs, else of the app that is installed. */
  async function savedPlans(
    { ides, apps, stateFileOf }: Pick<Discovery, "ides" | "apps" | "stateFileOf">,
    signal: AbortSignal,
  ): Promise<readonly SavedPlan[]> {
    const asked = options.overrides.variant;
    const variants = promptedVariants.filter(
      (variant) => (asked ?? variant) === variant && [...ides, ...apps].some((one) => one.variant === variant),
    );
    const plans = await Promise.all(
      variants.map(async (variant) => {
        const ide = ides.find((one) => one.variant === variant && one.signedIn);
        const file = ide?.stateFile ?? (await stateFileOf(variant, signal));
        const build = ide?.build ?? apps.find((app) => app.variant === variant)?.version ?? "";
        return file === undefined ? undefined : readSavedPlan(host, { variant, build, file }, signal);
      }),
    );
    return plans.filter((plan) => plan !== undefined);
  }

  /** Whether the server still holds its port. Where checking starts programs, a check of the last 10 s is believed. */
  async function check(ide: Ide): Promise<HostResult<undefined>> {
    const { pid, startedAtMs, endpoint } = ide;
    if (pid === undefined) return { ok: true, value: undefined }; // set by hand: the user answers for it
    const since = clock.monotonic() - (checked.get(ide.id) ?? Number.NEGATIVE_INFINITY);
    if (host.checkMayWait && since < checkBelievedMs && host.isAlive(pid)) return { ok: true, value: undefined };
    const holder = { pid, startedAtMs, host: endpoint.host, port: endpoint.port };
    const verdict = await verifyHolder(host, holder, clock, closing.signal);
    if (verdict.ok) checked.set(ide.id, clock.monotonic());
    return verdict;
  }

  async function mustHold(ide: Ide): Promise<void> {
    if (closing.signal.aborted) throw closed();
    const verdict = await check(ide);
    if (verdict.ok) return;
    known = undefined;
    throw new MillraceError(
      "ide_not_running",
      `${ide.product}, found on port ${ide.endpoint.port} can no longer be used: ${verdict.why}.`,
      { hint: "Try again: Millrace searches for the IDE again. `millrace doctor` shows what it finds." },
    );
  }

  /** Whether the programs of agents can still be started: an update or a removal takes them away. */
  async function areThere(agents: DiscoveryResult["agents"], signal: AbortSignal): Promise<boolean> {
    const facts = await Promise.all(agents.map(({ path }) => host.fileFacts(path, signal)));
    return facts.every((fact) => fact?.executable === true);
  }

  function shared(): Promise<DiscoveryResult> {
    scanning ??= scan().finally(() => {
      scanning = undefined;
    });
    return scanning;
  }

  return {
    async find(signal) {
      signal.throwIfAborted();
      if (closing.signal.aborted) throw closed();
      const result = believed();
      if (result !== undefined && (await areThere(result.agents, signal))) return result;
      return await orAborted(shared(), signal);
    },

    invalidate(ide, why) {
      if (ide !== undefined && why === "stranger") {
        strangers.add(strangerKey(ide.id, ide.endpoint));
        lastGood.delete(ide.id);
      }
      if (ide === undefined || known?.result.ides.some(({ id }) => id === ide.id) === true) known = undefined;
    },

    async connect(ide, signal) {
      if (closing.signal.aborted) throw closed();
      // An open client checks each connection that it makes; a process that still lives keeps its own.
      const open = links.find(ide);
      if (open !== undefined && (ide.pid === undefined || host.isAlive(ide.pid))) return open;
      await orAborted(mustHold(ide), signal);
      return links.open(ide);
    },

    close() {
      closing.abort(closed());
      links.close();
    },
  };
}

function closed(): MillraceError {
  return new MillraceError("cancelled", "The gateway is shutting down.");
}
