import { basename, dirname } from "node:path";
import process from "node:process";
import { systemClock } from "../../../base/clock.ts";
import { parseJson } from "../../../base/json.ts";
import { AgentHost } from "./host.ts";
import { LineLog } from "./line-log.ts";
import { startChild } from "./spawn-child.ts";
import { type HostOptions, readyWord } from "./wire.ts";

/*
 * The program of a host. A gateway starts it; it outlives the gateway, and its agent does not outlive it. It loads little, because one
 * runs beside each agent.
 */

const started = Promise.withResolvers<string>();
const starterLeft = Promise.withResolvers<void>();
let written = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (text: string) => {
  written += text;
  if (written.endsWith("\n")) started.resolve(written);
});
process.stdin.on("error", () => starterLeft.resolve());
process.stdin.on("end", () => starterLeft.resolve());
void starterLeft.promise.then(() => started.resolve(written));
const options = parseJson(await started.promise) as HostOptions; // written by hosted-child.ts
process.umask(0o077);
process.chdir(dirname(options.door)); // no folder of the user's is held, and the path of the door may be long
const door = basename(options.door);
const log = new LineLog(`${door}.lines`);
const child = await startChild(options.launch, systemClock);
const host = new AgentHost({
  options: { ...options, door },
  child,
  log,
  clock: systemClock,
  onOver: () => process.exit(0),
});
process.on("SIGINT", () => {});
process.on("SIGHUP", () => {});
process.on("SIGTERM", () => void host.end(1_000));
void starterLeft.promise.then(() => host.starterLeft());
await host.listen();
process.stdout.write(readyWord);
process.stdout.on("error", () => {}); // the gateway reads no further
