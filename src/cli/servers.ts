import type { ServerSource } from "../backends/reach.ts";
import type { Clock } from "../base/clock.ts";
import { isMillraceError, isWithoutIde, MillraceError } from "../base/errors.ts";
import type { DiscoveryResult, Ide, IdeFinder } from "../ide/ide.ts";
import { nearestMiss } from "../ide/near-miss.ts";
import type { LanguageServer } from "../language-server/language-server.ts";

/** How long an IDE that is not there is waited for. */
export interface Patience {
  readonly clock: Clock;
  /** From the first look to the last; ms. */
  readonly patienceMs: number;
}

/** How long a request waits for an IDE that may be starting; ms. Every client tried waits longer for an answer than this. */
export const startingIdeMs = 4_000;
const lookAgainMs = 250;

/**
 * The server that prompts go to: the first IDE of the discovery that may be prompted and is signed in. One that was found earlier
 * and cannot be used any more is looked for anew, once. With patience, no IDE at all is looked for again until the time is
 * over: it may be starting. Rows of docs/retries.md.
 */
export function promptServers(finder: IdeFinder, patience?: Patience): ServerSource {
  const ideOf = new WeakMap<LanguageServer, Ide>();
  async function connected(signal: AbortSignal): Promise<LanguageServer> {
    let ide = choosePrompted(await finder.find(signal));
    let server: LanguageServer;
    try {
      server = await finder.connect(ide, signal);
    } catch (error) {
      if (!isWithoutIde(error)) throw error;
      ide = choosePrompted(await finder.find(signal)); // it is elsewhere by now, or gone; nothing was sent
      server = await finder.connect(ide, signal);
    }
    ideOf.set(server, ide);
    return server;
  }
  return {
    async find(signal) {
      if (patience === undefined) return connected(signal);
      const { clock, patienceMs } = patience;
      const untilMs = clock.monotonic() + patienceMs;
      for (;;) {
        try {
          return await connected(signal);
        } catch (error) {
          const mayStart = isMillraceError(error) && error.code === "ide_not_running";
          if (!mayStart || clock.monotonic() + lookAgainMs > untilMs) throw error;
          await clock.sleep(lookAgainMs, signal); // the finder itself looks once a second, for all who ask
        }
      }
    },
    forget(server) {
      const ide = ideOf.get(server);
      if (ide !== undefined) finder.invalidate(ide);
    },
  };
}

/**
 * Windsurf before Windsurf Next, newest first, signed in; never Antigravity. Source: docs/discovery.md.
 *
 * @throws MillraceError `ide_not_running` or `not_signed_in`, with what was looked at in its details.
 */
export function choosePrompted(result: DiscoveryResult): Ide {
  const candidates = result.ides.filter(({ variant }) => variant !== "antigravity");
  const ide = candidates.find(({ signedIn }) => signedIn);
  if (ide !== undefined) return ide;
  const details = {
    looked_at: result.trace.map(({ stage, subject, rule, verdict, why }) => ({ stage, subject, rule, verdict, why })),
  };
  if (candidates.length > 0) {
    throw new MillraceError("not_signed_in", "The IDE runs, but nobody is signed in there.", { details });
  }
  const miss = nearestMiss(result.trace);
  if (miss !== undefined) {
    const { subject, variant, why, todo } = miss;
    throw new MillraceError("ide_not_running", `The ${variant} that runs (${subject}) cannot be used: ${why}.`, {
      hint: `${todo} \`millrace doctor\` shows what was looked at.`,
      details,
    });
  }
  if (result.ides.length > 0) {
    throw new MillraceError(
      "ide_not_running",
      "Only Antigravity runs here. Millrace meters it, but sends it no prompts.",
      {
        hint: "Start Windsurf or Windsurf Next and open a folder.",
        details,
      },
    );
  }
  throw new MillraceError("ide_not_running", `No IDE with a language server was found (${summary(result)}).`, {
    details,
  });
}

function summary({ trace }: DiscoveryResult): string {
  const rejected = trace.filter(({ verdict }) => verdict === "rejected");
  const looked = trace.find(({ stage }) => stage === "candidates")?.why ?? "nothing was looked at";
  if (rejected.length === 0) return looked;
  return `${looked}; ${rejected.map(({ subject, why }) => `${subject}: ${why}`).join("; ")}`;
}
