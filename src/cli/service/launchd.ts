import { posix } from "node:path";
import { stopMs } from "../gateway-process/home.ts";
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
        { kind: "write", file, text: launchdPlist(spec) },
        unload,
        untilGone,
        launchctl("bootstrap", domain, file),
      ],
      uninstall: [unload, { kind: "remove", file }],
      restart: [launchctl("kickstart", "-k", service)],
      status: [launchctl("print", service)],
    };
  },
  isRunning: ({ stdout }) => /^\s*state = running$/m.test(stdout),
  note: "It starts when you log in.",
};

function definition({ homeFolder }: ServiceSpec): string {
  return posix.join(homeFolder, "Library/LaunchAgents", `${label}.plist`);
}

/** The agent's property list. It is started again unless it ended with 0, as it does after SIGTERM. */
export function launchdPlist({ program, args, env, folder }: ServiceSpec): string {
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
  <key>ThrottleInterval</key>
  <integer>10</integer>
  <key>ExitTimeOut</key>
  <integer>${stopMs / 1_000}</integer>
  <key>StandardErrorPath</key>
  <string>${xml(posix.join(folder, "logs/gateway.err"))}</string>
</dict>
</plist>
`;
}
