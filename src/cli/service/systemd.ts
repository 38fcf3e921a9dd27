import { posix } from "node:path";
import { stopMs } from "../gateway-process/home.ts";
import { finalCodes } from "../terminal/exit-codes.ts";
import { command, ifThere, type ServiceManager, type ServiceSpec } from "./service-plan.ts";

const unit = "millrace.service";
const systemctl = command("systemctl", "--user");

/** A user unit. Source: systemd.service(5), systemd.exec(5). */
export const systemd: ServiceManager = {
  title: "systemd",
  definition,
  steps(spec) {
    const file = definition(spec);
    const reload = systemctl("daemon-reload");
    return {
      install: [
        { kind: "write", file, text: systemdUnit(spec) },
        reload,
        systemctl("enable", unit),
        systemctl("restart", unit),
      ],
      uninstall: [ifThere(systemctl("disable", "--now", unit)), { kind: "remove", file }, ifThere(reload)],
      restart: [systemctl("restart", unit)],
    };
  },
  note: "It starts when you log in. `loginctl enable-linger` starts it with the machine, and keeps it after you log out.",
};

function definition({ configHome, homeFolder }: ServiceSpec): string {
  return posix.join(configHome ?? posix.join(homeFolder, ".config"), "systemd/user", unit);
}

/**
 * The unit's text. Only the gateway gets a signal: it ends its agents itself, or leaves them to the next one.
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
RestartPreventExitStatus=${finalCodes.join(" ")}
KillMode=process
TimeoutStopSec=${stopMs / 1_000}

[Install]
WantedBy=default.target
`;
}

function quoted(word: string): string {
  const escaped = word.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n").replaceAll("%", "%%");
  return `"${escaped}"`;
}
