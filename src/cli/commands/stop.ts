import { endHosts, lookAtHosts } from "../../backends/acp/host/hosted-child.ts";
import { hostJson, hostsFolder, spellHost } from "../agents/hosted-agents.ts";
import { defineCommand } from "../command.ts";
import { stopGateway } from "../gateway-process/stop-gateway.ts";
import { duration, flag } from "../options.ts";
import { outlines } from "../outlines.ts";

/** The option that `stop` and `restart` share. */
export const waitOption = duration("how long to wait for the end of the gateway", 30_000, { defaultText: "30s" });

export const stopCommand = defineCommand({
  ...outlines.stop,
  description:
    "Stops your gateway, wherever it was started, and waits until it has ended. Clients with an open answer reconnect, and their turns continue at the next start. An agent in the middle of an answer works on, and the next gateway reads it; without one it ends ten minutes after its answer. `--agents` ends it now. Checks that the process is the gateway before it sends a signal.",
  options: { wait: waitOption, agents: flag("end the agents too that work on an answer"), json: flag("print JSON") },
  examples: [["millrace stop", "exits with 0 also if no gateway runs"]],
  async run({ options }, context) {
    const { out, settings } = context;
    const stopped = await stopGateway(options.wait, context);
    const folder = hostsFolder(settings.folder);
    const agents = await (options.agents ? endHosts(folder) : lookAtHosts(folder));
    if (options.json) {
      const gateway = stopped === undefined ? null : { url: stopped.url, pid: stopped.pid };
      out.json({ stopped: gateway, agents: agents.map(hostJson), agents_ended: options.agents });
      return;
    }
    if (stopped === undefined) out.line("No gateway runs.");
    else out.line(`The gateway at ${stopped.url} (process ${stopped.pid}) has stopped.`);
    for (const agent of agents)
      out.line(
        options.agents
          ? `Ended: ${spellHost(agent)}.`
          : `Still there: ${spellHost(agent)}. The next gateway takes it over; \`millrace stop --agents\` ends it.`,
      );
  },
});
