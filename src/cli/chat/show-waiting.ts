import type { CommandContext } from "../command.ts";

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const frameMs = 100;

/** Shows the model and the seconds that have passed, on stderr where that is a terminal, until `stop`. */
export function showWaiting(model: string, { io, out }: Pick<CommandContext, "io" | "out">): { stop(): void } {
  const stopped = new AbortController();
  const begunAt = io.clock.now();
  const draw = async () => {
    for (let frame = 0; !stopped.signal.aborted; frame = (frame + 1) % frames.length) {
      const seconds = Math.floor((io.clock.now() - begunAt) / 1000);
      out.status(`${frames[frame]} ${model} · ${seconds} s`);
      await io.clock.sleep(frameMs, stopped.signal);
    }
  };
  if (io.stderr.isTTY === true) draw().catch(() => undefined); // it was stopped
  return {
    stop() {
      if (stopped.signal.aborted) return;
      stopped.abort();
      out.status("");
    },
  };
}
