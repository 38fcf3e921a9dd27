import type { Clock } from "../base/clock.ts";
import { MillraceError } from "../base/errors.ts";
import type { Backend, Backends } from "./backend.ts";
import { cascadeBackend } from "./cascade/backend.ts";
import { PollPacer } from "./cascade/poll-pacer.ts";
import { defaultPace, type PollPace } from "./cascade/poll-schedule.ts";
import { rawChatBackend } from "./raw-chat/backend.ts";
import { Reach, type ServerSource } from "./reach.ts";

export interface BackendsOptions extends ServerSource {
  readonly clock: Clock;
  readonly pace?: Partial<PollPace>;
  /** How long a turn may show no sign of life; 10 min by default: a thinking model pauses for minutes. */
  readonly silenceMs?: number;
  /** How long to look for a prompt whose sending was cut off; 3 s by default, and one that arrived shows within a second. */
  readonly acceptGraceMs?: number;
}

const defaultSilenceMs = 10 * 60_000;
const defaultAcceptGraceMs = 3_000;

/**
 * The backends of the IDE that runs now: Cascade where its server has it, raw chat on the older ones. A server that seems
 * gone is looked for once more.
 */
export function openBackends(options: BackendsOptions): Backends {
  const { clock } = options;
  const settings = {
    clock,
    pace: { ...defaultPace, ...options.pace },
    pacer: new PollPacer(clock),
    silenceMs: options.silenceMs ?? defaultSilenceMs,
    acceptGraceMs: options.acceptGraceMs ?? defaultAcceptGraceMs,
  };
  const current = async (signal: AbortSignal): Promise<Backend> => {
    const reach = new Reach(options, await options.find(signal));
    const capabilities = await reach.twice((server) => server.capabilities(signal), signal);
    if (capabilities.cascade && (capabilities.steps || capabilities.transcript)) {
      return cascadeBackend(options, reach.server, capabilities, settings);
    }
    if (capabilities.rawChat) return rawChatBackend(reach.server);
    throw new MillraceError("upstream_failed", "The IDE's server offers no way to chat that Millrace knows.", {
      hint: "Update the IDE; `millrace doctor` shows what its server offers.",
    });
  };
  return { choose: (_prompt, signal) => current(signal), holding: (_begun, signal) => current(signal) };
}
