import { expect, test } from "vitest";
import { type RawAttach, rawClient, say, type TierName } from "../../src/gateway/streams/raw-client.fake.ts";
import { headersOf, newNames } from "../../src/gateway/streams/stream-world.fake.ts";
import { model, patienceMs, world } from "../support/world.ts";

const lastOf = ({ chunks }: RawAttach) => chunks.at(-1)?.eventId ?? "0";
const callOf = ({ chunks }: RawAttach) => chunks.find(({ response }) => response.case === "clientSideToolV2Call");

test("a stream with a call continues over any tier on which its client comes back", async () => {
  const { ide, served } = await world();
  const client = rawClient(served);
  const names = newNames();
  const attach = (tier: TierName, cursor: string) => client.attach(tier, headersOf(names, cursor));
  const first = attach("bidi", "0").send(say.request("[[sim: agent=once]] Look.", 0, { model, tools: ["bash"] }));
  await first.until((it) => callOf(it) !== undefined);
  await first.cut();
  const before = first.chunks.at(-2)?.eventId ?? "0"; // a call that is not answered holds the cursor back
  const second = attach("sse", before);
  await second.until((it) => callOf(it) !== undefined);
  const call = callOf(second)?.response.value as { readonly toolCallId: string };
  second.send(say.result(call.toolCallId, "a.txt b.txt", 1));
  await second.until(({ acks }) => acks.includes(1));
  await second.cut();
  const third = attach("poll", lastOf(second));
  expect(await third.ended).toBeUndefined();
  expect(third.end?.reason).toBe("stop");
  const { messages } = await ide.report();
  expect(messages).toHaveLength(2);
  expect(JSON.stringify(messages[1])).toContain("a.txt b.txt");
  const told = async (path: string) =>
    (await fetch(`${served.url}${path}`, { headers: { authorization: `Bearer ${served.key}` } })).json();
  const two = [
    { dialect: "idempotent", sealed: true, status: "finished" },
    { dialect: "idempotent", sealed: true, status: "finished" },
  ];
  expect(await told("/v1/turns")).toMatchObject({ data: two });
  await expect
    .poll(async () => JSON.stringify(await told("/v1/usage?by=dialect")), { timeout: patienceMs })
    .toMatch(/"idempotent".*"turns":2|"turns":2.*"idempotent"/);
});
