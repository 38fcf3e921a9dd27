import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { MillraceError } from "../../base/errors.ts";
import { childEnvironment } from "../../base/node/child-environment.ts";
import { removeIfThere } from "../../base/node/move-file.ts";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import type { CommandContext } from "../command.ts";
import { startedByVariable } from "../gateway-process/background.ts";
import { withoutNpm } from "../terminal/own-command.ts";
import { stableNode } from "../terminal/stable-node.ts";
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
  const { env: own } = withoutNpm(io);
  const node = stableNode(process.execPath, { env: own });
  const kept = childEnvironment("service", own, io.platform, { set: { [startedByVariable]: "service" } });
  return {
    program: node.path,
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

const programsSchema = z.array(z.string());

/** Where an installed service notes the files of its command line, for `doctor`. */
function programsFile(folder: string): string {
  return join(folder, "service.json");
}

/** Notes the files that the service runs, once it is installed; `undefined` once it is removed. */
export function noteService(folder: string, spec: ServiceSpec | undefined): void {
  if (spec === undefined) removeIfThere(programsFile(folder));
  else replaceFileSync(programsFile(folder), JSON.stringify([spec.program, spec.args[0] ?? ""]));
}

/** The files of the installed service's command line that are not there any more, as after an upgrade of Node. */
export function lostPrograms(folder: string): readonly string[] {
  try {
    const noted = programsSchema.parse(JSON.parse(readFileSync(programsFile(folder), "utf8")));
    return noted.filter((file) => !existsSync(file));
  } catch {
    return []; // no service was installed
  }
}
