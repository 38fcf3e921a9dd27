import { expect, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { ask, collect, world } from "../support/world.ts";

test("no credential shows in a log line, an error or a response", async () => {
  const planted = "sk-ws-01-planted-canary-0123456789abcdef";
  const { home, ide, served, client } = await world({ simulator: { apiKey: planted }, args: ["--log-level", "debug"] });
  const seen: string[] = [];
  const remember = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${served.url}${path}`, init);
    seen.push(JSON.stringify([...response.headers]), await response.text());
  };
  const authorized = { authorization: `Bearer ${served.key}` };
  await remember("/");
  await remember("/health", { headers: authorized });
  await remember("/v1/models");
  await remember("/v1/models", { headers: { authorization: "Bearer wrong-key-of-somebody-else" } });
  await remember("/v1/models", { headers: authorized });
  await remember("/v1/turns", { headers: authorized });
  await remember("/v1/chat/completions", { method: "POST", headers: authorized, body: "{" });
  seen.push(
    JSON.stringify(await collect(await client.chat.completions.create({ ...ask("echo-prompt"), stream: true }))),
  );
  await ide.setFaults([{ rpc: "SendUserCascadeMessage", csrf: true }]);
  seen.push(JSON.stringify(await client.chat.completions.create(ask("hi")).catch((error: unknown) => error)));
  await ide.setFaults([{ rpc: "*", error: { code: "internal", message: `it broke with ${planted}` } }]);
  seen.push(JSON.stringify(await client.chat.completions.create(ask("hi there")).catch((error: unknown) => error)));
  await ide.setFaults([]);
  for (const argv of [["doctor", "--json"], ["models", "--json"], ["key"], ["doctor"]]) {
    const { stdout, stderr } = await millrace(argv, { home });
    seen.push(stdout, stderr);
  }
  await served.stop();
  seen.push(served.log());

  const everything = seen.join("\n");
  for (const secret of [planted, ide.csrfToken.reveal(), served.key]) expect(everything).not.toContain(secret);
  expect(served.log()).toContain('"event"');
});
