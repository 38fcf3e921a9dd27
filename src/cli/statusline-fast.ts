import { isMillraceError } from "../base/errors.ts";
import { type StatusLineFormat, statusLineFormats } from "../usage/status-line.ts";
import { readSettings } from "./compose/settings.ts";
import { drawStatusLine } from "./terminal/draw-status-line.ts";
import { ideNames } from "./terminal/json-style.ts";

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
  const named = given.get("ide");
  const ide = named === undefined ? undefined : (namesInside.get(named) ?? named);
  const options = { format, template: given.get("template"), ide, window: given.get("window") };
  try {
    return drawStatusLine(readSettings(world).folder, options, world.nowMs);
  } catch (error) {
    if (isMillraceError(error)) return undefined;
    throw error;
  }
}

const namesInside: ReadonlyMap<string, string> = new Map(Object.entries(ideNames));

function isFormat(text: string): text is StatusLineFormat {
  return statusLineFormats.some((format) => format === text);
}
