import { defineCommand } from "../command.ts";
import { startInBackground } from "../gateway-process/background.ts";
import { readGatewayFile } from "../gateway-process/gateway-file.ts";
import { stopGateway } from "../gateway-process/stop-gateway.ts";
import { outlines } from "../outlines.ts";
import { isServiceInstalled } from "../service/service-spec.ts";
import { restartService } from "./service.ts";
import { waitOption } from "./stop.ts";

export const restartCommand = defineCommand({
  ...outlines.restart,
  description:
    "Stops your gateway and starts it in the background, on the same port and with the same command line. Running turns continue there. If no gateway runs, it starts one. A service is restarted as a service.",
  options: { wait: waitOption },
  examples: [["millrace restart", "after an update, or a change of the configuration file"]],
  async run({ options }, context) {
    const { out, settings } = context;
    const running = readGatewayFile(settings.gatewayFile);
    if (running === undefined ? isServiceInstalled(context) === true : running.startedBy === "service")
      return restartService(context);
    const stopped = await stopGateway(options.wait, context);
    if (stopped === undefined) out.note("No gateway ran.");
    else if (stopped.startedBy !== "background") out.note("It ran on a terminal; now it runs in the background.");
    return startInBackground(onSamePort(stopped?.argv ?? ["serve"], stopped?.url), context);
  },
});

/** The command line with the port that was used: clients know it, also where it was any free one. */
export function onSamePort(argv: readonly string[], url: string | undefined): readonly string[] {
  if (url === undefined) return argv;
  const kept = argv.filter((word, at) => !/^--port(?:=|$)/.test(word) && argv[at - 1] !== "--port");
  return [...kept, "--port", new URL(url).port];
}
