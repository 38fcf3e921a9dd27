import { posix } from "node:path";
import { startedBy } from "../gateway-process/background.ts";
import { stopMs } from "../gateway-process/home.ts";
import { exitCodes, finalCodes } from "../terminal/exit-codes.ts";
import { command, ifThere, type ServiceManager, type ServiceSpec, xml } from "./service-plan.ts";

const label = "dev.millrace.gateway";
const launchctl = command("launchctl");

/** A launch agent of the user. Source: launchd.plist(5), launchctl(1). */
export const launchd: ServiceManager = {
  title: "launchd",
  definition,
  steps(spec) {
    const domain = `gui/${spec.uid}`;
    const service = `${domain}/${label}`;
    const file = definition(spec);
    const unload = ifThere(launchctl("bootout", service));
    // `bootout` returns before the old one has ended, and `bootstrap` fails until then.
    const untilGone = { kind: "until", step: launchctl("print", service) } as const;
    return {
      install: [
        { kind: "folder", folder: posix.dirname(logOf(spec)) }, // launchd makes none, and ends the service with 78
        { kind: "write", file, text: launchdPlist(spec) },
        unload,
        untilGone,
        launchctl("bootstrap", domain, file),
      ],
      uninstall: [unload, { kind: "remove", file }],
      restart: [launchctl("kickstart", "-k", service)],
    };
  },
  note: "It starts when you log in.",
};

function definition({ homeFolder }: ServiceSpec): string {
  return posix.join(homeFolder, "Library/LaunchAgents", `${label}.plist`);
}

function logOf({ folder }: ServiceSpec): string {
  return posix.join(folder, "logs/gateway.err");
}

/**
 * The code that a process ends with. launchd knows no list of codes that are final: it starts a service again unless that ended with 0.
 * Source: launchd.plist(5), `KeepAlive`, `SuccessfulExit`.
 */
export function launchdExitCode(code: number, env: Readonly<Record<string, string | undefined>>): number {
  return startedBy(env) === "service" && finalCodes.includes(code) ? exitCodes.ok : code;
}

/**
 * The agent's property list. It is started again unless it ended with 0, as it does after SIGTERM and with what would fail again
 * (`launchdExitCode`). launchd gives other types than `Interactive` less of the processor, and joins their timers, also those of 33 ms.
 */
export function launchdPlist(spec: ServiceSpec): string {
  const { program, args, env } = spec;
  const strings = [program, ...args].map((word) => `    <string>${xml(word)}</string>`).join("\n");
  const variables = Object.entries(env)
    .map(([name, value]) => `    <key>${xml(name)}</key>\n    <string>${xml(value)}</string>`)
    .join("\n");
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${label}</string>
  <key>ProgramArguments</key>
  <array>
${strings}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${variables}
  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ProcessType</key>
  <string>Interactive</string>
  <key>LegacyTimers</key>
  <true/>
  <key>ThrottleInterval</key>
  <integer>10</integer>
  <key>ExitTimeOut</key>
  <integer>${stopMs / 1_000}</integer>
  <key>StandardErrorPath</key>
  <string>${xml(logOf(spec))}</string>
</dict>
</plist>
`;
}
