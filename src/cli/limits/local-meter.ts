import { parseOverrides } from "../../ide/discover/overrides.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import type { CommandContext } from "../command.ts";
import type { LocalMeter } from "./limits-source.ts";
import { openOwnHistory } from "./open-own-history.ts";

/** For one command, when no gateway runs: it asks the IDEs itself, and reads and adds to the same history. */
export function openLocalMeter({ io, settings }: CommandContext): LocalMeter {
  const overrides = parseOverrides(io.env);
  const history = openOwnHistory(io.env, settings.storeFile);
  let finder: IdeFinder | undefined;
  return {
    history,
    async meter() {
      const [{ composeIdeFinder }, { meterOver }] = await Promise.all([
        import("../compose/compose-ide.ts"),
        import("../compose/compose-meter.ts"),
      ]);
      finder ??= composeIdeFinder(io, overrides);
      return meterOver(history, { io, finder, folder: settings.folder });
    },
    close() {
      finder?.close();
      history.close();
    },
  };
}
