import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { Secret } from "../base/secret.ts";
import { selfSignedCertificate, selfSignedKey } from "../language-server/fixtures/self-signed.ts";
import type { Endpoint } from "../language-server/transport/endpoint.ts";
import { readAntigravityPlan } from "./antigravity-calls.ts";
import { antigravitySnapshot } from "./antigravity-plan.ts";
import { fixture } from "./snapshot.fake.ts";

const signal = new AbortController().signal;
const now = Date.parse("2026-02-24T12:00:00Z");
const token = "0c0ffee0-csrf-4000-8000-000000000002";
const opened: Server[] = [];

afterEach(() => {
  for (const server of opened.splice(0)) server.close();
});

/** A server that answers JSON over Connect, as the editor's does; `seen` holds what it was asked. */
async function antigravity(answers: Readonly<Record<string, unknown>>, tls = true) {
  const seen: { readonly rpc: string; readonly body: unknown }[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const rpc = request.url?.split("/").at(-1) ?? "";
    let text = "";
    for await (const chunk of request) text += String(chunk);
    seen.push({ rpc, body: JSON.parse(text) });
    const isAllowed = request.headers["x-codeium-csrf-token"] === token;
    const known = Object.hasOwn(answers, rpc);
    response.writeHead(isAllowed ? (known ? 200 : 404) : 401, {
      "content-type": known ? "application/json" : "text/plain",
    });
    response.end(isAllowed && known ? JSON.stringify(answers[rpc]) : "404 page not found\n");
  };
  const listener = (request: IncomingMessage, response: ServerResponse) => void answer(request, response);
  const identity = { key: selfSignedKey, cert: selfSignedCertificate };
  const server = tls ? createSecureServer(identity, listener) : createServer(listener);
  opened.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // listens on TCP
  const endpoint: Endpoint = {
    variant: "antigravity",
    host: "127.0.0.1",
    port,
    tls,
    protocol: "grpc",
    csrfToken: new Secret(token),
  };
  return { endpoint, seen };
}

describe("Antigravity's plan", () => {
  it("is read as JSON from its self-signed port, without a key and without a prompt", async () => {
    const { endpoint, seen } = await antigravity({
      GetUserStatus: fixture("fractions"),
      RetrieveUserQuotaSummary: fixture("pools"),
    });
    const plan = await readAntigravityPlan(endpoint, now, signal);
    expect(plan).toEqual({ userStatus: fixture("fractions"), quotaSummary: fixture("pools") });
    expect(seen.map(({ rpc }) => rpc).sort()).toEqual(["GetUserStatus", "RetrieveUserQuotaSummary"]);
    expect(seen.find(({ rpc }) => rpc === "RetrieveUserQuotaSummary")?.body).toEqual({ forceRefresh: true });
    expect(JSON.stringify(seen)).not.toMatch(/apiKey/i);
  });

  it("is known by model where the build has no quota summary", async () => {
    const { endpoint } = await antigravity({ GetUserStatus: fixture("fractions") }, false);
    const plan = await readAntigravityPlan(endpoint, now, signal);
    expect(plan.quotaSummary).toBeUndefined();
    const source = { ide: "antigravity", build: "1", readAtMs: now, source: "language_server" } as const;
    expect(antigravitySnapshot(plan, source).shape).toBe("fractions");
  });

  it("is an error that names no token when the server does not take ours", async () => {
    const { endpoint } = await antigravity({ GetUserStatus: {} }, false);
    const wrong = { ...endpoint, csrfToken: new Secret("0c0ffee0-csrf-4000-8000-00000000dead") };
    const error: unknown = await readAntigravityPlan(wrong, now, signal).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "upstream_failed", details: { reason: "csrf_refused" } });
    expect(JSON.stringify(error)).not.toContain("dead");
  });
});
