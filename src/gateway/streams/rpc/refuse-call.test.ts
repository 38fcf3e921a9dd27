import { EventEmitter } from "node:events";
import { Code, type ConnectError, createClient } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { BidiService, ChatService } from "../../../proto/aiserver/v1/chat_pb.ts";
import { fakeKey } from "../../gateway.fake.ts";
import { detailsOf, rawClient, say, tierNames } from "../raw-client.fake.ts";
import { headersOf, newNames, streamWorld } from "../stream-world.fake.ts";
import { endWith } from "./refuse-call.ts";

const unauthorized = { number: 38, info: { code: "unauthenticated" } };
const failureOf = (call: Promise<unknown>): Promise<ConnectError> =>
  call.then(
    () => Promise.reject(new Error("the call went well")),
    (error: ConnectError) => error,
  );

describe("a call that the guard turns away has details, so that an original client does not try for ever", () => {
  test.each(tierNames)("over %s", async (tier) => {
    const world = await streamWorld();
    const wrong = { authorization: "Bearer of another key altogether" };
    const refused = world.client.attach(tier, headersOf(newNames(), "0", wrong)).send(say.request("Hello"));
    const error = await refused.ended;
    expect(error?.code).toBe(Code.Unauthenticated);
    expect(detailsOf(error)).toMatchObject(unauthorized);
    expect(refused.messages).toHaveLength(0);
    const foreign = await world.client.attach(tier, headersOf(newNames(), "0", { origin: "http://evil.example" }))
      .ended;
    expect(foreign?.code).toBe(Code.PermissionDenied);
    expect(detailsOf(foreign)).toMatchObject({ number: 38, info: { reason: "foreign" } });
  });

  test("of BidiAppend, over HTTP/1.1 and HTTP/2", async () => {
    const { listening } = await streamWorld();
    const { transports } = rawClient({ url: listening.url, key: "of another key altogether" });
    for (const transport of Object.values(transports)) {
      const call = createClient(BidiService, transport).bidiAppend({ requestId: { requestId: "a" }, data: "" });
      const error = await failureOf(call);
      expect(error.code).toBe(Code.Unauthenticated);
      expect(detailsOf(error)).toMatchObject(unauthorized);
    }
  });

  test("keeps its status where a person asks", async () => {
    const { listening } = await streamWorld();
    const url = `${listening.url}/${BidiService.typeName}/BidiAppend`;
    const refused = await fetch(url, { method: "POST", body: "{}", headers: { "content-type": "application/json" } });
    expect(refused.status).toBe(401);
    expect(await refused.json()).toMatchObject({
      code: "unauthenticated",
      details: [{ type: "aiserver.v1.ErrorDetails" }],
    });
  });
});

test("a stream of HTTP/2 that is over ends outside of the read that its answer may be written in", async () => {
  const codes: number[] = [];
  const stream = { close: (code: number) => codes.push(code) };
  const response = Object.assign(new EventEmitter(), { stream });
  endWith(response as unknown as Parameters<typeof endWith>[0]); // all that it asks of one
  response.emit("finish");
  expect(codes).toEqual([]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(codes).toEqual([0]);
});

test("a method that is not served, and a message that is too large, are refused with details", async () => {
  const { listening } = await streamWorld({ gateway: { maxBodyBytes: 100 } });
  const headers = { "x-api-key": fakeKey, "content-type": "application/json" };
  const old = await fetch(`${listening.url}/${ChatService.typeName}/StreamUnifiedChat`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/connect+json" },
    body: "{}",
  });
  expect(old.status).toBe(200);
  expect(await old.text()).toMatch(/"code":"unimplemented".*aiserver.v1.ErrorDetails/);
  const body = JSON.stringify({ data: "00".repeat(1_000) });
  const large = await fetch(`${listening.url}/${BidiService.typeName}/BidiAppend`, { method: "POST", headers, body });
  expect(large.status).toBe(429);
  expect(await large.text()).toMatch(/"code":"resource_exhausted".*aiserver.v1.ErrorDetails/);
});

test("a stream takes no message of more than 10 MB, also where a request over HTTP may have more", async () => {
  const { listening } = await streamWorld();
  const head = Buffer.alloc(5);
  head.writeUInt32BE(10 * 1024 * 1024 + 1, 1);
  const headers = { "x-api-key": fakeKey, "content-type": "application/connect+proto" };
  const path = `${ChatService.typeName}/StreamUnifiedChatWithToolsIdempotentSSE`;
  const refused = await fetch(`${listening.url}/${path}`, { method: "POST", headers, body: head });
  expect(await refused.text()).toMatch(/larger than 10 MB.*too_large/);
});
