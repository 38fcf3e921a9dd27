import { dataFolderOf, joinPath } from "../apps/layouts.ts";
import type { Host } from "../host/host.ts";
import type { SavedPlan } from "../ide.ts";

const accountRow = "windsurf.reactSettings.cachedPlanInfoData:user-";
const oldRow = "windsurf.settings.cachedPlanInfo";
const authRow = "windsurfAuthStatus";

/**
 * Reads the rows in which an app saves the plan; undefined when its database cannot be read. Takes no key out of it.
 * Source: docs/dev/wire/devin-desktop.md, "The saved plan".
 */
export async function readSavedPlan(
  host: Host,
  about: Pick<SavedPlan, "variant" | "build" | "file">,
  signal: AbortSignal,
): Promise<SavedPlan | undefined> {
  const read = await host.readState(about.file, [`${accountRow}*`, oldRow, authRow], signal);
  if (read.kind !== "read") return undefined;
  const folder = dataFolderOf(about.file);
  const logs = folder === undefined ? [] : await host.listFolder(joinPath(folder, "logs"), signal);
  return {
    ...about,
    lastStartMs: logs.flatMap((name) => startOfLogFolder(name) ?? []).reduce<number | undefined>(newest, undefined),
    accountRows: [...read.values].filter(([key]) => key.startsWith(accountRow)).map(([, value]) => value),
    oldRow: read.values.get(oldRow),
    userStatus: userStatusIn(read.values.get(authRow)),
  };
}

function newest(a: number | undefined, b: number): number {
  return a === undefined ? b : Math.max(a, b);
}

/** The start time in a log folder's name, `20261122T093000` in local time, as epoch ms; undefined for any other name. */
export function startOfLogFolder(name: string): number | undefined {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)$/.exec(name);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number);
  const date = new Date(year, month - 1, day, hour, minute, second);
  const isReal = date.getMonth() === month - 1 && date.getDate() === day && hour < 24 && minute < 60 && second < 60;
  return isReal ? date.getTime() : undefined;
}

function userStatusIn(text: string | undefined): string | undefined {
  const value =
    text === undefined ? undefined : /"userStatusProtoBinaryBase64"\s*:\s*"([A-Za-z0-9+/=_-]*)"/.exec(text)?.[1];
  return value === "" ? undefined : value;
}
