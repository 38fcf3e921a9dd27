import { launchd } from "./launchd.ts";
import type { ServiceManager } from "./service-plan.ts";
import { systemd } from "./systemd.ts";
import { taskScheduler } from "./task-scheduler.ts";

/** The manager of this system; undefined for a system that has none of the three. */
export function managerOf(platform: NodeJS.Platform): ServiceManager | undefined {
  const managers: Partial<Record<NodeJS.Platform, ServiceManager>> = {
    linux: systemd,
    darwin: launchd,
    win32: taskScheduler,
  };
  return managers[platform];
}
