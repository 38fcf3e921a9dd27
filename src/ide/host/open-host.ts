import type { Clock } from "../../base/clock.ts";
import { childEnvironment } from "../../base/node/child-environment.ts";
import { openDarwinHost } from "../darwin/host.ts";
import { openLinuxHost } from "../linux/host.ts";
import { openWindowsHost } from "../windows/host.ts";
import type { Host } from "./host.ts";
import { commandRunner } from "./run-command.ts";

export interface OpenHostOptions {
  /** `process.platform`; any Unix that is not macOS is asked as Linux is. */
  readonly platform: string;
  /** `process.getuid()`; undefined on Windows. */
  readonly uid: number | undefined;
  /** `os.homedir()`. */
  readonly home: string;
  /** `process.env`: the PATH for finding programs, and what they need to run. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/** This machine, as its operating system lets us see it. */
export function openHost(options: OpenHostOptions): Host {
  const { platform, home, environment, clock } = options;
  const uid = options.uid ?? -1;
  const ofSystem = childEnvironment("tool", environment, platform as NodeJS.Platform); // any other Unix is as Linux
  switch (platform) {
    case "darwin":
      return openDarwinHost({ home, clock, variables: environment, uid, run: commandRunner(ofSystem) });
    case "win32":
      return openWindowsHost({
        home,
        clock,
        variables: environment,
        run: commandRunner(ofSystem),
        systemRoot: environment["SystemRoot"],
      });
    default:
      return openLinuxHost({ home, clock, variables: environment, uid });
  }
}
