import { readFileSync } from "node:fs";
import module from "node:module";
import process from "node:process";
import { acpOptions } from "./acp-options.ts";
import type { AgentSettings } from "./desk/desk-protocol.ts";

/*
 * The `devin` program of the stand-in. Its launcher passes the settings file first, then the caller's arguments. Large modules
 * are loaded late, because a gateway waits for the first answer.
 */

const [settingsFile, ...args] = process.argv.slice(2);
if (settingsFile === undefined) {
  process.stderr.write("This is the agent of the Millrace simulator; start it with: millrace simulate\n");
  process.exit(64);
}
const settings = JSON.parse(readFileSync(settingsFile, "utf8")) as AgentSettings; // written by install.ts
if (settings.compileCache !== undefined) module.enableCompileCache?.(settings.compileCache);

const options = acpOptions(args);
if (typeof options === "number") process.exitCode = options;
else await (await import("./serve-acp.ts")).serveAcp(settings, args, options);
