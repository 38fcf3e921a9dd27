import { createHook } from "node:async_hooks";
import { writeFileSync } from "node:fs";

/**
 * Loaded into a gateway that runs from its sources: counts the promises that it makes between a first and a second SIGUSR2, by the file of
 * ours that makes or awaits them. `MILLRACE_PROMISES` names the file that gets the counts.
 */
export type PromiseCounts = Readonly<Record<string, number>>;

const file = process.env["MILLRACE_PROMISES"];
const counts: Record<string, number> = {};
const hook = createHook({
  init(_id, type) {
    if (type !== "PROMISE") return;
    const name = placeOf(new Error("here").stack ?? "");
    counts[name] = (counts[name] ?? 0) + 1;
  },
});
let counting = false;

if (file !== undefined)
  process.on("SIGUSR2", () => {
    if (counting) {
      hook.disable();
      writeFileSync(file, JSON.stringify(counts satisfies PromiseCounts));
    } else hook.enable();
    counting = !counting;
  });

/** The innermost function of the repository in a stack, as its file and line; else Node's own. */
function placeOf(stack: string): string {
  const frames = stack.split("\n").slice(2);
  for (const frame of frames) {
    const [, place] = /file:.*?\/((?:src|node_modules)\/.*?:\d+):\d+/.exec(frame) ?? [];
    if (place !== undefined) return place;
  }
  return "node";
}
