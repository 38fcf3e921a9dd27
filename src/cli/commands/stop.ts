import { defineCommand } from "../command.ts";
import { stopGateway } from "../gateway-process/stop-gateway.ts";
import { duration, flag } from "../options.ts";
import { outlines } from "../outlines.ts";

/** The option that `stop` and `restart` share. */
export const waitOption = duration("how long to wait for the end of the gateway", 30_000, { defaultText: "30s" });

export const stopCommand = defineCommand({
  ...outlines.stop,
  description:
    "Stops your gateway, wherever it was started, and waits until it has ended. Clients with an open answer reconnect, and their turns continue at the next start. Checks that the process is the gateway before it sends a signal.",
  options: { wait: waitOption, json: flag("print JSON") },
  examples: [["millrace stop", "exits with 0 also if no gateway runs"]],
  async run({ options }, context) {
    const stopped = await stopGateway(options.wait, context);
    if (options.json)
      context.out.json({ stopped: stopped === undefined ? null : { url: stopped.url, pid: stopped.pid } });
    else if (stopped === undefined) context.out.line("No gateway runs.");
    else context.out.line(`The gateway at ${stopped.url} (process ${stopped.pid}) has stopped.`);
  },
});
