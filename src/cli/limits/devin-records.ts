import { workingFolder } from "../../backends/acp/process/agent-spec.ts";
import { sessionsFile } from "../../ide/account/cli-credentials.ts";
import { DevinCalls } from "../../usage/devin-calls.ts";
import type { Io } from "../terminal/io.ts";

/** Devin's own records in the user's home, or in the only home that is asked for. */
export function devinRecords(
  { platform, homeFolder, env }: Pick<Io, "platform" | "homeFolder" | "env">,
  onlyHome: string | undefined,
): DevinCalls {
  const file = sessionsFile(
    platform === "win32" ? "windows" : platform === "darwin" ? "darwin" : "linux",
    onlyHome ?? homeFolder,
    onlyHome === undefined ? env : {},
  );
  return new DevinCalls(file, workingFolder);
}
