import { homedir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../base/clock.ts";
import type { Hooks, PluginInput } from "./hooks.ts";
import { openPlugin } from "./open-plugin.ts";

/**
 * The OpenCode plugin: named under `plugin` in its configuration, it adds every model of the account. It runs inside
 * OpenCode's process and speaks HTTP only. The default export is the only one: OpenCode calls every export of a module that
 * has no default export.
 */
const plugin = {
  id: "millrace",
  server(input: PluginInput): Promise<Hooks> {
    const { env, argv } = process; // this module is an entry, as src/cli/bin.ts is
    return Promise.resolve(
      openPlugin(input, {
        folder: env["MILLRACE_HOME"] || join(homedir(), ".millrace"),
        keyFile: env["MILLRACE_KEY_FILE"] || undefined,
        env,
        clock: systemClock,
        args: argv,
      }),
    );
  },
};

export default plugin;
