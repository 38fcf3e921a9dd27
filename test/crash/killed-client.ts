import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StreamEvent } from "../../src/client/stream/stream-event.ts";
import { compileCache } from "../support/gateway-process.ts";
import { type CrashClient, type Question, type Received, RuleBroken } from "./crash-client.ts";
import { Door } from "./door.ts";
import type { Lives } from "./lives.ts";
import type { Progress } from "./progress.ts";
import { effectsIn, flat, type Names, receivedOf } from "./stream-client.ts";

const application = join(import.meta.dirname, "application.ts");
const preload = join(import.meta.dirname, "die-at-record.ts");

/** How the client dies. */
type ClientDeath =
  /** In the middle of what it sends: so many bytes of it have left. */
  | { readonly kind: "bytes"; readonly up: number }
  /** At a step with which it keeps its record. */
  | { readonly kind: "record"; readonly when: "before" | "after"; readonly step: number }
  /** So long after its journal has its first event of this life. */
  | { readonly kind: "time"; readonly afterMs: number };

/** An application that is killed itself, once for each number of its luck, and goes on from its files each time. */
export const killedClient: CrashClient = { name: "stream protocol, client killed", prompts: 2, plain: flat, ask };

async function ask(lives: Lives, question: Question, progress: Progress): Promise<Received> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-application-"));
  await using door = await Door.open(lives);
  const { key } = await lives.current();
  const { name, answer, model, luck } = question;
  const start = (death: ClientDeath | undefined) =>
    spawn(process.execPath, ["--import", preload, application, door.url, key, folder, name, answer, model], {
      stdio: ["ignore", "ignore", "pipe"],
      env: {
        PATH: process.env["PATH"] ?? "",
        ...compileCache,
        ...(death?.kind === "record" ? { MILLRACE_TEST_DIE_AT: `${death.when}:${death.step}` } : {}),
      },
    });
  let deaths = 0;
  let connections = 0;
  let size = 0;
  const look = () => {
    const now = journalIn(folder).length;
    if (now !== size) progress.note(`an event of ${name}`);
    size = now;
  };
  const watch = setInterval(look, 100);
  try {
    for (const death of [...luck.map(deathOf), undefined]) {
      progress.note(`a life of ${name}`);
      const child = start(death);
      const complaint = saidBy(child);
      const ended = once(child, "exit");
      const stop = () => child.kill("SIGKILL");
      progress.signal.addEventListener("abort", stop, { once: true });
      if (death?.kind === "bytes") door.shutAfter(death.up, stop);
      const timer = death?.kind === "time" ? setTimeout(stop, death.afterMs) : undefined;
      const [code] = (await ended) as [number | null];
      clearTimeout(timer);
      progress.signal.removeEventListener("abort", stop);
      door.reopen();
      progress.signal.throwIfAborted();
      if (code === null) deaths++;
      else if (code !== 0) throw new RuleBroken(`its application failed: ${await complaint}`);
      else break;
    }
    connections = door.connections;
    const lines = journalIn(folder).map(
      (line) => JSON.parse(line) as StreamEvent | ({ readonly type: "names" } & Names),
    );
    const names = lines.find((line) => line.type === "names");
    if (names === undefined) throw new RuleBroken("its stream was never stored");
    const events = lines.flatMap((line) => (line.type === "names" ? [] : line));
    return { ...receivedOf(events, names, effectsIn(join(folder, "effects"))), connections, deaths };
  } finally {
    clearInterval(watch);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A stream sends about 900 bytes to be taken and 500 for a tool's result, and keeps its record about 30 times in a short life. */
function deathOf(luck: number): ClientDeath {
  const place = (luck * 3) % 1;
  if (luck < 1 / 3) return { kind: "bytes", up: 1 + Math.floor(place * 2_500) };
  if (luck < 2 / 3)
    return { kind: "record", when: place < 0.5 ? "before" : "after", step: 1 + Math.floor(((place * 2) % 1) * 30) };
  return { kind: "time", afterMs: 300 + Math.floor(place * 1_500) };
}

function journalIn(folder: string): readonly string[] {
  const path = join(folder, "journal");
  return existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
}

async function saidBy({ stderr }: ChildProcess): Promise<string> {
  let said = "";
  for await (const chunk of stderr ?? []) said += String(chunk);
  return said.trim();
}
