import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Simulator } from "../../simulator/index.ts";

/** Arguments for a gateway that must talk to this simulator, also if others run on the machine. Not across a restart of it. */
export function pinnedTo(simulator: Simulator): readonly string[] {
  const file = join(simulator.home, "server-tokens.json");
  const tokens = { csrfToken: simulator.csrfToken.reveal(), apiKey: simulator.apiKey.reveal() };
  writeFileSync(file, JSON.stringify(tokens), { mode: 0o600 });
  return ["--endpoint", `127.0.0.1:${simulator.port}`, "--token-file", file];
}
