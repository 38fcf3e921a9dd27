import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Client, exportKey, keyVariable } from "./client.ts";
import { openCodeConfig } from "./opencode.ts";

/** Kilo: a fork of OpenCode with other files and variables. Source: kilo 7.7.7. */
export const kilo: Client = {
  name: "kilo",
  title: "Kilo",
  programs: ["kilo"],
  edits: (target, { homeFolder, env }) => {
    const folder = join(env["XDG_CONFIG_HOME"] || join(homeFolder, ".config"), "kilo");
    const withComments = join(folder, "kilo.jsonc");
    const { model, provider } = openCodeConfig(target);
    return [
      {
        kind: "json",
        file: existsSync(withComments) ? withComments : join(folder, "kilo.json"),
        set: [
          { path: ["provider", "millrace"], value: provider.millrace },
          { path: ["model"], value: model },
        ],
      },
    ];
  },
  notes: (target) => [`Before you start it: ${exportKey(target)}`],
  launch: (target, key, args) => ({
    command: "kilo",
    args,
    env: { KILO_CONFIG_CONTENT: JSON.stringify(openCodeConfig(target)), [keyVariable]: key },
  }),
};
