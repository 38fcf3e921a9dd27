import { isDeepStrictEqual } from "node:util";
import { isMillraceError } from "../../base/errors.ts";
import type { Config } from "./config-schema.ts";
import { readConfig } from "./read-config.ts";

/**
 * What a running gateway says of its configuration file when it is asked to read it again. The agents that it names run turns,
 * so nothing of it is exchanged under them: a change holds from the next start on.
 */
export function lookAtConfig(file: string, loaded: Config): string {
  try {
    if (isDeepStrictEqual(readConfig(file), loaded)) return `${file} says what the gateway runs with.`;
    return `${file} has changed and is right. Restart the gateway to use it: its turns go on there.`;
  } catch (error) {
    if (!isMillraceError(error)) throw error;
    return `${error.message} ${error.hint} The gateway goes on with what it read at its start.`;
  }
}
