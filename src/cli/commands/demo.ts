import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Simulator, startSimulator } from "../../../simulator/index.ts";
import { remove } from "../../base/node/move-file.ts";
import { makeTemporaryFolder } from "../../base/node/user.ts";
import { defaultModel, listModels } from "../clients/target.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { stayAwake } from "../compose/use-gateway.ts";
import { startForCommand } from "../gateway-process/background.ts";
import { ask, type GatewayClient, spell } from "../gateway-process/gateway-client.ts";
import { stopMs } from "../gateway-process/home.ts";
import { flag, integer } from "../options.ts";
import { outlines } from "../outlines.ts";
import { defaultPort } from "../serve/gateway-options.ts";
import { readSettings } from "../settings.ts";
import { askForLink } from "./dashboard.ts";
import { stopGateway } from "./stop.ts";

const question = "What are you, and is a real model behind this answer?";

export const demoCommand = defineCommand({
  ...outlines.demo,
  description:
    "Starts a stand-in IDE and a gateway, and asks one question. Both stay up, so that you can try your own tools. It uses no real IDE, costs nothing, and keeps its files in a temporary folder.",
  options: {
    once: flag("exit after the answer"),
    port: integer(
      "port of the gateway; if the default is in use, Millrace picks a free one and prints it",
      "<port>",
      { min: 0, max: 65_535, initial: defaultPort },
      { env: "MILLRACE_PORT" },
    ),
  },
  examples: [
    ["millrace demo", "then use it from your own tools"],
    ["millrace demo --once", "only the answer"],
  ],
  async run({ options }, context) {
    const { io, out, signal } = context;
    const home = makeTemporaryFolder("millrace-demo-");
    let simulator: Simulator | undefined;
    const own = Object.entries(io.env).filter(([name]) => !name.startsWith("MILLRACE_"));
    // never the real IDE, which may run beside
    const env = { ...Object.fromEntries(own), MILLRACE_HOME: join(home, ".millrace"), MILLRACE_IDE_ONLY_HOME: home };
    const ownIo = { ...io, env, homeFolder: home };
    const inDemo: CommandContext = { ...context, io: ownIo, settings: readSettings(ownIo), typed: new Set() };
    try {
      simulator = await startSimulator({ home });
      out.line(
        `stand-in IDE   ${simulator.profile.productFolder} ${simulator.ideVersion}, pid ${simulator.pid}, port ${simulator.port}`,
      );
      const port = options.port === defaultPort ? [] : ["--port", String(options.port)];
      const gateway = await startForCommand(["serve", ...port, ...nameOf(simulator)], inDemo);
      out.line(`gateway        ${gateway.url}`);
      const model = defaultModel(await listModels(gateway, signal)).id;
      await answer(gateway, model, context);
      if (!options.once) {
        out.line("It stays up. Point a tool at it:");
        out.line(`  base URL   ${gateway.url}/v1`);
        out.line(`  key        ${inDemo.settings.keyFile}`);
        out.line();
        out.line(
          `  curl ${gateway.url}/v1/chat/completions -H "Authorization: Bearer $(cat ${inDemo.settings.keyFile})" \\`,
        );
        out.line(
          `    -H 'content-type: application/json' -d '{"model":"${model}","messages":[{"role":"user","content":"Hello"}]}'`,
        );
        out.line();
        const link = await askForLink(gateway, signal);
        out.line(`  dashboard  ${link.url}`);
        out.line("             (works once, within two minutes)");
        out.line();
        const command = io.env["npm_lifecycle_event"] === "demo" ? "npm run millrace --" : "millrace";
        out.line("With your own IDE, type next:");
        out.line(`  ${command} init`);
        out.line(`  ${command} run codex        (or opencode, claude-code, …)`);
        out.line();
        out.line("Ctrl-C stops the demo and removes its files.");
        await stayAwake(inDemo, signal);
      }
    } finally {
      await stopGateway(stopMs, { ...inDemo, signal: new AbortController().signal });
      await simulator?.stop();
      try {
        await remove(home, { recursive: true });
      } catch {
        out.note(`The demo's files stay in ${home}. You can delete them.`); // what the demo did matters more
      }
    }
  },
});

/**
 * Options that name the stand-in. A search for it takes seconds on Windows and needs PowerShell, which many companies block; on Linux it needs
 * /proc. It is no real IDE, so nobody needs to agree to its use.
 */
function nameOf(simulator: Simulator): readonly string[] {
  const tokenFile = join(simulator.home, "token.json");
  const tokens = { csrfToken: simulator.csrfToken.reveal(), apiKey: simulator.apiKey.reveal() };
  writeFileSync(tokenFile, JSON.stringify(tokens), { mode: 0o600 });
  return ["--endpoint", `127.0.0.1:${simulator.port}`, "--token-file", tokenFile, "--accept"];
}

/** Asks one question and prints the answer, with its time. */
async function answer(gateway: GatewayClient, model: string, { io, out, signal }: CommandContext): Promise<void> {
  out.line(`model          ${model}`);
  out.line();
  out.line(out.style("dim", `> ${question}`));
  const started = io.clock.monotonic();
  out.line(await ask(gateway, { model, text: question }, signal));
  out.line();
  out.line(out.style("dim", `answered after ${spell(io.clock.monotonic() - started)}`));
  out.line();
}
