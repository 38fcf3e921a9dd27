import { posix } from "node:path";
import type { ServiceManager, ServiceSpec, ServiceStep } from "./service-plan.ts";

const unit = "millrace.service";
const systemctl = (...args: readonly string[]): ServiceStep => ({
  kind: "run",
  program: "systemctl",
  args: ["--user", ...args],
});

/** A user unit. Source: systemd.service(5), systemd.exec(5). */
export const systemd: ServiceManager = {
  title: "systemd",
  definition,
  steps(action, spec) {
    switch (action) {
      case "install":
        return [
          { kind: "write", file: definition(spec), text: systemdUnit(spec) },
          systemctl("daemon-reload"),
          systemctl("enable", unit),
          systemctl("restart", unit),
        ];
      case "uninstall":
        return [
          { kind: "run", program: "systemctl", args: ["--user", "disable", "--now", unit], mayFail: true },
          { kind: "remove", file: definition(spec) },
          { kind: "run", program: "systemctl", args: ["--user", "daemon-reload"], mayFail: true },
        ];
      case "status":
        return [systemctl("is-active", unit)];
      case "restart":
        return [systemctl("restart", unit)];
      default:
        return action satisfies never;
    }
  },
  isRunning: ({ stdout }) => stdout.trim() === "active",
  note: "It starts when you log in. `loginctl enable-linger` starts it with the machine, and keeps it after you log out.",
};

function definition({ configHome, homeFolder }: ServiceSpec): string {
  return posix.join(configHome ?? posix.join(homeFolder, ".config"), "systemd/user", unit);
}

/**
 * The unit's text. A wrong command line (64) or a port in use (73) would fail again, so neither is restarted. Only the gateway gets
 * a signal: it ends its agents itself, or leaves them to the next one.
 */
export function systemdUnit({ program, args, env }: ServiceSpec): string {
  const command = [program, ...args].map((word) => quoted(word).replaceAll("$", "$$$$")).join(" ");
  return `[Unit]
Description=Millrace, a gateway to the models of your IDE

[Service]
Type=exec
ExecStart=${command}
${Object.entries(env)
  .map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}`)
  .join("\n")}
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=64 73
KillMode=process
TimeoutStopSec=30

[Install]
WantedBy=default.target
`;
}

function quoted(word: string): string {
  const escaped = word.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n").replaceAll("%", "%%");
  return `"${escaped}"`;
}
