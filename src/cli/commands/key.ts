import { defineCommand } from "../command.ts";
import { readOrMakeKey } from "../gateway-process/key-file.ts";
import { flag } from "../options.ts";
import { outlines } from "../outlines.ts";

export const keyCommand = defineCommand({
  ...outlines.key,
  description:
    "Prints the path of the file with the gateway's key, and makes the key if there is none. `--value` prints the key itself.",
  options: {
    value: flag("print the key itself"),
    json: flag("print JSON"),
  },
  examples: [
    ["millrace key", "the file"],
    ["export OPENAI_API_KEY=$(millrace key --value)", "for a tool that reads the key from a variable"],
  ],
  run({ options }, { out, settings }) {
    const key = readOrMakeKey(settings.keyFile);
    const value = options.value ? key.reveal() : undefined;
    if (options.json) out.json({ file: settings.keyFile, ...(value === undefined ? {} : { key: value }) });
    else out.line(value ?? settings.keyFile);
    return Promise.resolve();
  },
});
