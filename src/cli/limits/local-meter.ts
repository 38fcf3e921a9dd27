import { parseOverrides } from "../../ide/discover/overrides.ts";
import type { IdeFinder } from "../../ide/ide.ts";
import type { CommandContext } from "../command.ts";
import type { LocalMeter } from "./limits-source.ts";
import { devinRecords, openOwnHistory } from "./open-own-history.ts";

/**
 * For one command, when no gateway runs: it asks the IDEs itself, and reads and adds to the same history. `shared`: a finder of the
 * caller, who closes it.
 */
export function openLocalMeter({ io, settings }: CommandContext, shared?: IdeFinder): LocalMeter {
  const overrides = parseOverrides(io.env);
  const history = openOwnHistory(settings.storeFile);
  let finder: IdeFinder | undefined;
  const records = devinRecords(io, overrides.onlyHome);
  return {
    history,
    elsewhere: (query) => records.elsewhere(query, (...asked) => history.sessions(...asked)),
    async meter() {
      const [{ composeIdeFinder }, { meterOver }] = await Promise.all([
        import("../compose/compose-ide.ts"),
        import("../compose/compose-meter.ts"),
      ]);
      const used = shared ?? (finder ??= composeIdeFinder(io, overrides));
      return meterOver(history, { io, finder: used, folder: settings.folder, onlyHome: overrides.onlyHome });
    },
    close() {
      finder?.close();
      history.close();
    },
  };
}
