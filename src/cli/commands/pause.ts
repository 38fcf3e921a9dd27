import { defineCommand } from "../command.ts";
import { endPause, pause, readPause } from "../gateway-process/pause-file.ts";
import { flag } from "../options.ts";
import { outlines } from "../outlines.ts";

const options = { json: flag("print JSON") };

/** `millrace pause`: the kill switch. It writes a file that every gateway of this folder looks for before each prompt. */
export const pauseCommand = defineCommand({
  ...outlines.pause,
  description:
    "Stops all prompts of your gateways, also after a restart. New requests are refused, and requests in the queue keep waiting. Running answers continue, and stored answers can still be read.",
  options,
  examples: [["millrace pause", "at once; `millrace resume` ends it"]],
  run({ options: { json } }, { io, out, settings }) {
    pause(settings.pauseFile, io.clock.now());
    const sinceMs = readPause(settings.pauseFile)?.sinceMs;
    if (json) out.json({ paused: true, since: sinceMs === undefined ? null : new Date(sinceMs).toISOString() });
    else out.line("Paused: no prompt is sent until `millrace resume`. Running answers continue.");
    return Promise.resolve();
  },
});

export const resumeCommand = defineCommand({
  ...outlines.resume,
  description: "Serves requests again. Turns in the queue continue within a second.",
  options,
  examples: [["millrace resume", "after `millrace pause`"]],
  run({ options: { json } }, { out, settings }) {
    const wasPaused = endPause(settings.pauseFile);
    if (json) out.json({ paused: false, was_paused: wasPaused });
    else out.line(wasPaused ? "Prompts are sent again." : "Nothing was paused.");
    return Promise.resolve();
  },
});
