import { toBinary } from "@bufbuild/protobuf";
import { type RawAttach, rawClient, say, type TierName, tierNames } from "../../src/gateway/streams/raw-client.fake.ts";
import { StreamUnifiedChatResponseWithToolsIdempotentSchema as ServerMessageSchema } from "../../src/proto/aiserver/v1/chat_pb.ts";
import { CuttingProxy } from "../../test/cut/cutting-proxy.ts";
import type { GatewayProcess } from "../../test/support/gateway-process.ts";
import { type CutsMeasured, directive, withGateway } from "./cuts.ts";

const key = Buffer.alloc(32, 9).toString("base64url");

/**
 * As `measureCuts`, over the tiers of the idempotent protocol: bytes are those of the protocol's messages, welcomes and
 * acknowledgements included, without what each transport puts around them.
 */
export async function measureTierCuts(store: "sqlite" | "memory", cuts: number): Promise<readonly CutsMeasured[]> {
  return withGateway(store, async (gateway) => {
    const measured: CutsMeasured[] = [];
    for (const tier of tierNames) measured.push(await cutTier(gateway, tier, cuts));
    return measured;
  });
}

async function cutTier(gateway: GatewayProcess, tier: TierName, cuts: number): Promise<CutsMeasured> {
  const attach = (url: string, cursor: string): RawAttach => {
    const headers = {
      "x-idempotency-key": `bench-${tier}`,
      "x-idempotent-encryption-key": key,
      "x-idempotency-event-id": cursor,
    };
    const request = say.request(`A question over ${tier}. ${directive}`, 0, { model: "claude-sonnet-4.6" });
    return rawClient({ url, key: gateway.key }).attach(tier, headers).send(request).endInput();
  };
  const whole = attach(gateway.url, "0");
  await whole.ended;
  if (whole.end === undefined) throw new Error(`no whole stream over ${tier}`);
  const length = await bytesDown(gateway, attach);
  const firstNewMs: number[] = [];
  let received = 0;
  for (let cut = 0; cut < cuts; cut++) {
    await using proxy = await CuttingProxy.open(Number(new URL(gateway.url).port));
    const afterBytes = 1_000 + Math.floor((cut * (length - 2_000)) / cuts);
    proxy.cut = { direction: "down", afterBytes, how: cut % 2 === 0 ? "fin" : "rst" };
    const first = attach(`http://127.0.0.1:${proxy.port}`, "0");
    await first.ended;
    const cursor = first.chunks.at(-1)?.eventId ?? "0";
    const askedAt = performance.now();
    const second = attach(gateway.url, cursor);
    await second.until(({ chunks }) => chunks.length > 0);
    firstNewMs.push(performance.now() - askedAt);
    await second.ended;
    if (first.text + second.text !== whole.text) throw new Error(`${tier}: another answer`);
    received += size(first) + size(second);
  }
  const usefulBytes = cuts * size(whole);
  return {
    surface: `stream protocol, ${tier}`,
    events: whole.chunks.length,
    firstNewMs,
    resentBytes: received - usefulBytes,
    usefulBytes,
  };
}

/** What the longest connection of a whole attach carries down. */
async function bytesDown(gateway: GatewayProcess, attach: (url: string, cursor: string) => RawAttach): Promise<number> {
  await using proxy = await CuttingProxy.open(Number(new URL(gateway.url).port));
  await attach(`http://127.0.0.1:${proxy.port}`, "0").ended;
  return proxy.most.down;
}

function size({ messages }: RawAttach): number {
  return messages.reduce((sum, message) => sum + toBinary(ServerMessageSchema, message).length, 0);
}
