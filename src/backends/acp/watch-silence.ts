import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import type { RunningPrompt } from "./running-prompt.ts";

const lookMs = 5_000;

/**
 * Reports every 5 s that the agent's process is alive, and ends a prompt that was silent for `silenceMs`. Runs until the
 * returned controller aborts. It runs beside the answer, so that no delta waits for a timer.
 */
export function watchSilence(
  running: RunningPrompt,
  { clock, silenceMs }: { readonly clock: Clock; readonly silenceMs: number },
  onAlive: () => void,
): AbortController {
  const stop = new AbortController();
  const watch = async () => {
    let heard = running.heard;
    let sinceMs = clock.monotonic();
    while (running.end === undefined) {
      await clock.sleep(Math.min(lookMs, silenceMs), stop.signal);
      if (running.heard !== heard) {
        ({ heard } = running);
        sinceMs = clock.monotonic();
      } else if (clock.monotonic() - sinceMs >= silenceMs) {
        running.finish({ type: "silent" });
        return;
      }
      onAlive();
    }
  };
  void bestEffort(watch()); // an abort ends it
  return stop;
}
