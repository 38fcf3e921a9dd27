import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openSchemas } from "../src/schema/open-schemas.ts";
import { exampleBundle } from "./schema-bundle.ts";

/**
 * Reading the schema out of bundles of 10 MB as a gateway does at its first start: digest, parse in a thread, descriptors, held
 * against ours. Each run is a process of its own, so that its peak memory is its own. Exits 1 when the best of the real one takes
 * longer, or any takes more memory, than it may. Processor time is an upper bound of what an idle machine takes, and not disturbed by others.
 */
const mayTakeMs = 2_000;
const mayTakeMb = 400;
const length = 10_000_000;
const rounds = 5;
const bundles = { "2 MB of protobuf in it, as a real build has": 2_000_000, "nothing but protobuf": length };

interface Run {
  readonly wallMs: number;
  readonly processorMs: number;
  readonly peakMb: number;
}

if (process.argv[2] === "--read") await readOnce(process.argv[3] ?? "");
else compare();

function compare(): void {
  const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));
  try {
    for (const [what, protobufLength] of Object.entries(bundles)) {
      const path = join(folder, "extension.js");
      writeFileSync(path, exampleBundle(length, protobufLength));
      const runs = Array.from({ length: rounds }, () => child(path));
      const least = (of: (run: Run) => number) => Math.min(...runs.map(of));
      const [wallMs, processorMs] = [least((run) => run.wallMs), least((run) => run.processorMs)];
      const peakMb = Math.max(...runs.map((run) => run.peakMb));
      console.log(
        `10 MB, ${what}: best of ${rounds} ${wallMs.toFixed(0)} ms (${processorMs.toFixed(0)} ms of processor time), at most ${peakMb.toFixed(0)} MB`,
      );
      const mustHold = protobufLength < length;
      if (mustHold && (Math.min(wallMs, processorMs) > mayTakeMs || peakMb > mayTakeMb)) {
        console.error(`it may take ${mayTakeMs} ms and ${mayTakeMb} MB`);
        process.exitCode = 1;
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function child(path: string): Run {
  const printed = execFileSync(process.execPath, [fileURLToPath(import.meta.url), "--read", path], {
    encoding: "utf8",
  });
  return JSON.parse(printed) as Run; // as `readOnce` prints it
}

async function readOnce(path: string): Promise<void> {
  const before = process.cpuUsage();
  const startedAt = performance.now();
  const { problems } = await openSchemas({ cacheFolder: undefined }).read(path, new AbortController().signal);
  const wallMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(before);
  if (problems.length > 0) throw new Error(`${problems.length} problems`);
  const run: Run = { wallMs, processorMs: (user + system) / 1000, peakMb: process.resourceUsage().maxRSS / 1024 };
  console.log(JSON.stringify(run));
}
