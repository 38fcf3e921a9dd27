import { createServer } from "node:http";
import { expect, it } from "vitest";
import { listening } from "../../../test/support/temporary.ts";
import { MillraceError } from "../../base/errors.ts";
import { Secret } from "../../base/secret.ts";
import { encodeOpenAiError } from "../../gateway/dialects/openai-errors.ts";
import { readSettings } from "../settings.ts";
import { callGateway, silentGateway } from "./gateway-client.ts";

async function answering(error: MillraceError): Promise<string> {
  const { status, body } = encodeOpenAiError(error.toRecord(), "req_1");
  const server = createServer((_, response) => response.writeHead(status).end(JSON.stringify(body)));
  return `http://127.0.0.1:${await listening(server)}`;
}

it.each([
  new MillraceError("unknown_model", "There is no model `x`.", { details: { nearest: ["y"] } }),
  new MillraceError("not_signed_in", "No account is signed in.", { hint: "Sign in." }),
])("throws the gateway's own error as it was: %s", async (error) => {
  const gateway = { url: await answering(error), key: new Secret("key") };
  const called = callGateway(gateway, "/v1/models", { signal: AbortSignal.timeout(100_000) });
  await expect(called).rejects.toMatchObject({ ...error.toRecord() });
});

it("names the command that ends a gateway that hangs, as each system has it", () => {
  const settings = readSettings({ env: {}, homeFolder: "/nonexistent" });
  expect(silentGateway(settings, "linux").hint).toMatch(/`kill -CONT .*`kill -9 /);
  expect(silentGateway(settings, "win32").hint).toContain("`taskkill /F /PID ");
  expect(silentGateway(settings, "win32").hint).not.toContain("kill -");
});
