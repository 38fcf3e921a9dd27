import { readFileSync, writeFileSync } from "node:fs";
import { type Profiler, Session } from "node:inspector/promises";
import { fileURLToPath } from "node:url";

/**
 * Loaded into a gateway that runs from its sources: counts how many of their lines, and of the libraries', belong to functions that run between a first and a second
 * SIGUSR2, without blank lines and comments. `MILLRACE_LINES` names the file that gets them, by source file.
 */
export type RunLines = Readonly<Record<string, number>>;

const file = process.env["MILLRACE_LINES"];
const session = new Session();
let counting = false;

if (file !== undefined)
  process.on("SIGUSR2", () => {
    void (counting ? finish(file) : begin());
    counting = true;
  });

async function begin(): Promise<void> {
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
}

async function finish(to: string): Promise<void> {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const counts: Record<string, number> = {};
  for (const { url, functions } of result) {
    const [, name] = /^file:.*?\/((?:src|node_modules)\/.*)$/.exec(url) ?? [];
    if (name === undefined) continue;
    const lines = linesOf(readFileSync(fileURLToPath(url), "utf8"), functions);
    if (lines > 0) counts[name] = lines;
  }
  writeFileSync(to, JSON.stringify(counts satisfies RunLines));
}

/** Of the innermost function around each line it counts whether that ran; what is in none ran when the file was loaded. */
function linesOf(source: string, functions: readonly Profiler.FunctionCoverage[]): number {
  const spans = functions
    .flatMap(({ ranges }) => ranges.slice(0, 1))
    .filter(({ startOffset, endOffset }) => endOffset - startOffset < source.length)
    .sort((a, b) => b.endOffset - b.startOffset - (a.endOffset - a.startOffset));
  let [lines, offset] = [0, 0];
  for (const line of source.split("\n")) {
    const at = offset + line.search(/\S|$/);
    const around = spans.findLast(
      ({ startOffset, endOffset }) => startOffset <= at + line.trim().length && at < endOffset,
    );
    const isCode = line.trim() !== "" && !/^\s*(?:\/\/|\/\*|\*)/.test(line);
    if (isCode && around !== undefined && around.count > 0) lines++;
    offset += line.length + 1;
  }
  return lines;
}
