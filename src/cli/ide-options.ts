import { type IdeOverrides, parseOverrides } from "../ide/overrides.ts";
import type { Io } from "./io.ts";

/** What the options of a command and the environment say about which IDE to use; options win. Throws `invalid_request`. */
export function overridesOf(
  io: Pick<Io, "env">,
  options: {
    readonly ide: string | undefined;
    readonly endpoint: string | undefined;
    readonly tokenFile: string | undefined;
  },
): IdeOverrides {
  return parseOverrides({
    ...io.env,
    MILLRACE_IDE_VARIANT: options.ide,
    MILLRACE_IDE_ENDPOINT: options.endpoint,
    MILLRACE_IDE_TOKEN_FILE: options.tokenFile,
  });
}
