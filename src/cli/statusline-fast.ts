import { isMillraceError, MillraceError } from "../base/errors.ts";
import { ideName, productToday, variantOf } from "../base/ide-name.ts";
import { type StatusLineFormat, type StatusLineOptions, statusLine, statusLineFormats } from "../usage/status-line.ts";
import { markAsked, readLimitsFile } from "./limits/limits-file.ts";
import { readSettings } from "./settings.ts";

/**
 * `millrace statusline` without the rest of the CLI: some status bars run it every second, and loading every command costs more than
 * all its work. Returns the line, or undefined for anything but a plain success; the full command then prints the details.
 *
 * @param argv the words after `statusline`.
 */
export function statuslineFast(
  argv: readonly string[],
  world: {
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly homeFolder: string;
    readonly nowMs: number;
  },
): string | undefined {
  const given = new Map<string, string>();
  for (let index = 0; index < argv.length; index++) {
    const match = /^--(format|template|ide|window)(?:=(.*))?$/s.exec(argv[index] ?? "");
    const value = match?.[2] ?? argv[++index];
    if (match?.[1] === undefined || value === undefined) return undefined;
    given.set(match[1], value);
  }
  const format = given.get("format") ?? "plain";
  if (!isFormat(format)) return undefined;
  const ide = given.get("ide");
  const options = {
    format,
    template: given.get("template"),
    ide: ide === undefined ? undefined : ideName(variantOf(ide) ?? ide),
    window: given.get("window"),
  };
  try {
    return drawStatusLine(readSettings(world).folder, options, world.nowMs);
  } catch (error) {
    if (isMillraceError(error)) return undefined;
    throw error;
  }
}

function isFormat(text: string): text is StatusLineFormat {
  return statusLineFormats.some((format) => format === text);
}

/**
 * The status line from the limits file of the running gateway. Notes that the limits were read. Asks no IDE.
 *
 * @throws MillraceError `ide_not_running` when no gateway ever wrote limits, `invalid_request` for a bad template.
 */
export function drawStatusLine(folder: string, options: StatusLineOptions, nowMs: number): string {
  const limits = readLimitsFile(folder);
  markAsked(folder, nowMs);
  if (limits !== undefined) return statusLine(limits, options, nowMs);
  throw new MillraceError("ide_not_running", "No gateway has read the limits yet.", {
    hint: `Start one with \`millrace serve\`, and ${productToday}.`,
  });
}
