import { parseOverrides } from "../ide/overrides.ts";
import type { CommandContext } from "./command.ts";
import { composeIdeFinder } from "./compose-ide.ts";
import { composeMeter } from "./compose-meter.ts";
import type { LocalMeter } from "./limits-source.ts";

/** A meter for one command, for when no gateway runs: it asks the IDEs itself, and reads and adds to the same history. */
export function openLocalMeter({ io, settings }: CommandContext): LocalMeter {
  const finder = composeIdeFinder(io, parseOverrides(io.env));
  const meter = composeMeter({ io, finder, folder: settings.folder, storeFile: settings.storeFile });
  return {
    meter,
    close() {
      finder.close();
      meter.history.close();
    },
  };
}
