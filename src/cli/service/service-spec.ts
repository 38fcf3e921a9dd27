import { existsSync, realpathSync } from "node:fs";
import { MillraceError } from "../../base/errors.ts";
import { childEnvironment } from "../../base/node/child-environment.ts";
import { withoutNpm } from "../clients/installed.ts";
import type { CommandContext } from "../command.ts";
import { startedByVariable } from "../gateway-process/background.ts";
import { launchd } from "./launchd.ts";
import type { ServiceManager, ServiceSpec } from "./service-plan.ts";
import { systemd } from "./systemd.ts";
import { taskScheduler } from "./task-scheduler.ts";

/** Whether the gateway is installed as a service; undefined on a system without a manager that Millrace knows. */
export function isServiceInstalled(context: Pick<CommandContext, "io" | "settings">): boolean | undefined {
  const manager = managerOf(context.io.platform);
  return manager && existsSync(manager.definition(serviceSpec(context)));
}

/** The service that would run this very program for this user. */
export function serviceSpec({ io, settings }: Pick<CommandContext, "io" | "settings">): ServiceSpec {
  const script = process.argv[1];
  if (script === undefined) throw new MillraceError("internal", "The program does not know its own file.");
  const kept = childEnvironment("service", withoutNpm(io).env, io.platform, {
    set: { [startedByVariable]: "service" },
  });
  return {
    program: process.execPath,
    args: [realpathSync(script), "serve"],
    env: Object.fromEntries(Object.entries(kept).filter(([, value]) => value !== "")),
    homeFolder: io.homeFolder,
    folder: settings.folder,
    configHome: io.env["XDG_CONFIG_HOME"],
    user: windowsUser(io.env),
    uid: process.getuid?.() ?? 0,
  };
}

function windowsUser({ USERDOMAIN: domain, USERNAME: name }: CommandContext["io"]["env"]): string | undefined {
  return domain === undefined || name === undefined ? undefined : `${domain}\\${name}`;
}

/** The manager of this system; undefined for a system that has none of the three. */
export function managerOf(platform: NodeJS.Platform): ServiceManager | undefined {
  const managers: Partial<Record<NodeJS.Platform, ServiceManager>> = {
    linux: systemd,
    darwin: launchd,
    win32: taskScheduler,
  };
  return managers[platform];
}
