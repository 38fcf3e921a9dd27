import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { dirname, join } from "node:path";
import { listening, temporaryFolder } from "../../../test/support/temporary.ts";
import { challengeHeader, gatewayProof, proofHeader } from "../../base/node/gateway-proof.ts";
import { Secret } from "../../base/secret.ts";
import { doorHeader } from "../../gateway/routes/run-key-route.ts";
import { runMain } from "../run-main.fake.ts";
import { keysCommand } from "./keys.ts";
import { runCommand } from "./run.ts";
import { setupCommand } from "./setup.ts";

export const key = "mr_a-key-that-nobody-may-find-in-a-file";
/** The port of a run's door. */
export const doorOfRun = "4711";
export const models = {
  data: [
    {
      id: "model-a",
      display_name: "Model A",
      context_length: 200_000,
      max_output_tokens: 64_000,
      modalities: { input: ["text", "image"] },
    },
    { id: "model-b", display_name: "Model B", default: true },
  ],
};

/** A home with a running gateway in it, and the command line over both. */
export async function home(listed: object = models) {
  const server = createServer((request, response) => {
    const one = /^\/v1\/models\/(.+)/.exec(request.url ?? "")?.[1];
    const listOrModel = one === undefined ? listed : { id: decodeURIComponent(one) };
    const body = request.url === "/health" ? { status: "ok" } : listOrModel;
    const challenge = String(request.headers[challengeHeader]);
    const proof = gatewayProof(new Secret(key), challenge, { port, instance: "one" });
    const headers = { "content-type": "application/json", [proofHeader]: proof };
    if (request.url === "/dashboard/api/run-key") {
      request.on("data", (lent: Buffer) => {
        response.writeHead(200, { ...headers, ...(String(lent).includes('"door":0') && { [doorHeader]: doorOfRun }) });
        response.flushHeaders(); // it holds the key while this is open
      });
      return;
    }
    response.writeHead(one === "removed" ? 404 : 200, headers);
    response.end(JSON.stringify(body));
  });
  const port = await listening(server);
  const url = `http://127.0.0.1:${port}`;
  const homeFolder = temporaryFolder();
  const own = join(homeFolder, ".millrace");
  mkdirSync(own);
  writeFileSync(
    join(own, "gateway.json"),
    JSON.stringify({ url, pid: process.pid, instance: "one", version: "0", startedAtMs: 0 }),
  );
  writeFileSync(join(own, "key"), key, { mode: 0o600 });
  program(homeFolder, "millrace");
  const millrace = (argv: readonly string[], env: Record<string, string> = {}, platform = process.platform) => {
    const own = { PATH: join(homeFolder, "bin"), ...env };
    return runMain(argv, [setupCommand, runCommand, keysCommand], { homeFolder, platform, env: own });
  };
  const file = (name: string) => join(homeFolder, name);
  const write = (name: string, text: string) => {
    mkdirSync(dirname(file(name)), { recursive: true });
    writeFileSync(file(name), text);
  };
  const read = (name: string) => readFileSync(file(name), "utf8");
  return { url, homeFolder, millrace, file, write, read };
}

/** A program of that name in the home's own `bin`. */
export function program(homeFolder: string, name: string): void {
  mkdirSync(join(homeFolder, "bin"), { recursive: true });
  writeFileSync(join(homeFolder, "bin", name), "#!/bin/sh\n", { mode: 0o755 });
}

export const files: Readonly<Record<string, string>> = {
  opencode: ".config/opencode/opencode.jsonc",
  codex: ".codex/millrace.config.toml",
  "claude-code": ".claude/settings.json",
  "qwen-code": ".qwen/settings.json",
  pi: ".pi/agent/models.json",
  kilo: ".config/kilo/kilo.jsonc",
  droid: ".factory/settings.json",
  "gemini-cli": ".gemini/settings.json",
  goose: ".config/goose/config.yaml",
  aider: ".aider.conf.yml",
  continue: ".continue/config.yaml",
  zed: ".config/zed/settings.json",
  crush: ".config/crush/crush.json",
};
