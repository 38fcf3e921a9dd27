import { MillraceError } from "../../base/errors.ts";
import { defineCommand } from "../command.ts";
import { spellAge } from "../doctor/spell.ts";
import { readGatewayFile } from "../gateway-process/gateway-file.ts";
import { spellTurnLimit } from "../keys/turn-limit.ts";
import { flag } from "../options.ts";
import { outlines } from "../outlines.ts";
import { unknownBackend } from "../terminal/top-picture.ts";
import { readNow } from "./top.ts";

/** A gateway that has just started knows the IDE after its first look, which takes seconds at most. */
const againMs = 200;
const mostTries = 15;

/** `millrace status`: whether a gateway runs, in a few lines. */
export const statusCommand = defineCommand({
  ...outlines.status,
  description:
    "Says whether your gateway runs, where prompts go, and how many turns run and wait. Exits with 0 if it answers, with 69 if it does not run. `millrace doctor` checks more.",
  options: { json: flag("print JSON") },
  examples: [["millrace status", "is it running?"]],
  async run({ options }, context) {
    const { io, out, settings, signal } = context;
    let now = await readNow(context);
    for (let tries = 0; now.backend === undefined && tries < mostTries; tries++) {
      await io.clock.sleep(againMs, signal); // the gateway looks for the IDE meanwhile
      now = await readNow(context);
    }
    const file = readGatewayFile(settings.gatewayFile);
    if (file === undefined) throw new MillraceError("unavailable", "The gateway is being stopped.");
    const upMs = now.atMs - file.startedAtMs;
    if (options.json)
      return out.json({
        url: now.url,
        pid: file.pid,
        version: file.version,
        up_ms: upMs,
        paused: now.paused,
        running: now.running,
        waiting: now.waiting,
        turn_limit: now.turnLimit ?? null,
        store_weak: now.storeWeak,
        backend: now.backend ?? null,
      });
    out.prose(`Millrace ${file.version} serves on ${now.url} (process ${file.pid}, for ${spellAge(upMs)})`);
    if (now.paused) out.prose(`  ${out.style("yellow", "PAUSED")}         no prompt is sent until \`millrace resume\``);
    out.prose(`  prompts go to  ${now.backend ?? unknownBackend}`);
    out.prose(
      `  turns          ${now.running} running, ${now.waiting} waiting, ${now.ended} ended since it started, ${now.failed} of them failed`,
    );
    if (now.turnLimit !== undefined && now.turnLimit.why !== "alone")
      out.prose(`  limit          ${spellTurnLimit(now.turnLimit)}`);
    for (const why of now.storeWeak) out.prose(`  ${out.style("yellow", "store")}          ${why}`);
  },
});
