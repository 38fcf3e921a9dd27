import { type IdeOverrides, parseOverrides } from "../../ide/discover/overrides.ts";
import type { Io } from "../terminal/io.ts";

/** Options that say which IDE to use. */
export interface IdeOptions {
  readonly ide: string | undefined;
  readonly endpoint: string | undefined;
  readonly tokenFile: string | undefined;
  readonly home?: string | undefined;
  readonly pid?: number | undefined;
}

/** The user's choice of IDE, from the options of a command and the environment; options win. Throws `invalid_request`. */
export function overridesOf(io: Pick<Io, "env">, options: IdeOptions): IdeOverrides {
  return parseOverrides({
    ...io.env,
    MILLRACE_IDE_VARIANT: options.ide,
    MILLRACE_IDE_ENDPOINT: options.endpoint,
    MILLRACE_IDE_TOKEN_FILE: options.tokenFile,
    ...(options.home === undefined ? {} : { MILLRACE_IDE_ONLY_HOME: options.home }),
    ...(options.pid === undefined ? {} : { MILLRACE_IDE_PID: String(options.pid) }),
  });
}
