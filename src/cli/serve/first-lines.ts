import type { CommandContext } from "../command.ts";
import type { GatewayParts } from "../compose/compose.ts";
import { howToStop } from "../gateway-process/background.ts";
import { backendInUse } from "../gateway-process/health-details.ts";
import { nextSteps } from "../gateway-process/next-steps.ts";
import { readPause } from "../gateway-process/pause-file.ts";
import { spellBackend } from "../gateway-process/spell-backend.ts";
import { version } from "../package-files.ts";
import { spellChosenIde } from "./servers.ts";

/** Where a gateway listens. `base`: the address that a client uses. */
interface ServingAt {
  readonly url: string;
  readonly base: string;
  readonly socket: string | undefined;
  readonly startedBy: Parameters<typeof howToStop>[0];
}

/** The lines that `millrace serve` prints once it listens. They come one by one, because some of them ask the IDE. */
export async function* firstLines(
  composed: GatewayParts,
  { url, base, socket, startedBy }: ServingAt,
  named: Parameters<typeof spellChosenIde>[1],
  context: CommandContext,
): AsyncGenerator<string, void> {
  const { settings, signal } = context;
  yield `Millrace ${version()} serves on ${url}`;
  if (socket !== undefined)
    yield "  guard             mode 0600: only your user connects, and each request needs the key";
  yield `  OpenAI base URL   ${base}/v1`;
  yield `  key               ${settings.keyFile} (\`millrace keys --value\` prints it)`;
  yield `  prompts go to     ${await promptsGoTo(composed, signal)}`;
  const ide = spellChosenIde(await composed.finder.find(signal), named);
  if (ide !== undefined) yield `  IDE               ${ide}`;
  if (readPause(settings.pauseFile) !== undefined)
    yield "  PAUSED            no prompt is sent until `millrace resume`";
  yield* await nextSteps(context);
  yield howToStop(startedBy);
}

/** Where prompts go now, and why. A later prompt looks again. */
async function promptsGoTo({ backends }: GatewayParts, signal: AbortSignal): Promise<string> {
  try {
    return spellBackend(await backendInUse(backends, signal));
  } catch (error) {
    if (signal.aborted) return "nothing: it is being stopped";
    throw error;
  }
}
