import { toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { type RawAttach, rawClient, say, type TierName } from "../../src/gateway/streams/raw-client.fake.ts";
import { StreamUnifiedChatResponseWithToolsSchema as ChunkSchema } from "../../src/proto/aiserver/v1/chat_pb.ts";
import type { CutWorld } from "./cut-world.ts";
import { type Cut, CuttingProxy } from "./cutting-proxy.ts";
import type { Places } from "./places.ts";

const answer = 'text="Grüße, 世界 🙂! And a line\\nmore."';
const key = Buffer.alloc(32, 5).toString("base64url");

/** A stream of the idempotent protocol as a client of this tier asks for it. */
interface Ask {
  readonly name: string;
  readonly tier: TierName;
  readonly text: string;
}

/**
 * One finished stream, attached to again and again through a connection that is cut after the given bytes of what comes
 * down, both ways; each time the client comes back with the id of the last event that it got. Answers how many cuts there were.
 */
export async function cutTierDown(world: CutWorld, tier: TierName, places: Places, broken: string[]): Promise<number> {
  const ask: Ask = { name: `down-${tier}`, tier, text: `Cut ${tier} down. [[sim: ${answer}]]` };
  const whole = chunksOf(await attached(world, world.gateway.url, ask, "create", "0"));
  if (whole.at(-1)?.isEnd !== true || whole.length < 3) throw new Error(`no whole stream to begin with over ${tier}`);
  const expected = whole.map(({ bytes }) => bytes);
  const longest = await mostBytes(world, ask);
  let cuts = 0;
  for (const afterBytes of places.upTo(longest.down)) {
    for (const how of ["fin", "rst"] as const) {
      cuts++;
      const first = chunksOf(await attachedThrough(world, { direction: "down", afterBytes, how }, ask, "resume"));
      const last = first.at(-1);
      const rest =
        last?.isEnd === true
          ? []
          : chunksOf(await attached(world, world.gateway.url, ask, "resume", last?.eventId ?? "0"));
      const got = [...first, ...rest].map(({ bytes }) => bytes);
      const at = expected.findIndex((bytes, i) => bytes !== got[i]);
      if (at >= 0 || got.length !== expected.length)
        broken.push(
          `${tier}, ${how} after byte ${afterBytes} down: chunk ${at} of ${expected.length}, got ${got.length}`,
        );
    }
  }
  return cuts;
}

/** New streams whose request is cut after the given ones of its bytes and then made again: each is one stream and one prompt. */
export async function cutTierUp(world: CutWorld, tier: TierName, places: Places, broken: string[]): Promise<number> {
  const asked = (name: string): Ask => ({ name, tier, text: `${name} [[sim: text="ok" rate=instant]]` });
  const longest = await mostBytes(world, asked(`measure-${tier}-00000-rst-end`));
  const names: string[] = [];
  for (const afterBytes of places.upTo(longest.up)) {
    for (const how of ["fin", "rst"] as const) {
      const ask = asked(`up-${tier}-${afterBytes}-${how}-end`);
      names.push(ask.name);
      await attachedThrough(world, { direction: "up", afterBytes, how }, ask, "create");
      let again = await attached(world, world.gateway.url, ask, "create", "0");
      // the attach that was cut may come to the gateway after this one, and take the stream over
      if ((await again.ended)?.code === Code.Aborted)
        again = await attached(world, world.gateway.url, ask, "create", "0");
      if (again.end === undefined) broken.push(`${ask.name}: no end after the cut: ${(await again.ended)?.message}`);
    }
  }
  const prompts = await world.upstream.prompts();
  for (const name of names) {
    const accepted = prompts.filter((text) => text.includes(name)).length;
    if (accepted !== 1) broken.push(`${name}: ${accepted} prompts`);
  }
  return names.length;
}

/** One attach to its end, however that comes; one that is held back for a while waits, as clients do. */
async function attached(world: CutWorld, url: string, ask: Ask, intent: string, cursor: string): Promise<RawAttach> {
  for (;;) {
    const attach = rawClient({ url, key: world.gateway.key }).attach(ask.tier, {
      "x-idempotency-key": ask.name,
      "x-idempotent-encryption-key": key,
      "x-idempotency-event-id": cursor,
      "x-millrace-intent": intent,
    });
    attach.send(say.request(ask.text, 0, { model: world.upstream.model })).endInput();
    const error = await attach.ended;
    if (error?.code !== Code.ResourceExhausted) return attach;
    const seconds = Number(error.metadata.get("retry-after") ?? "1");
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
  }
}

/** One attach over connections that are all cut there: a proxy of its own, so that none is an earlier attach's. */
async function attachedThrough(world: CutWorld, cut: Cut, ask: Ask, intent: string): Promise<RawAttach> {
  await using proxy = await CuttingProxy.open(portOf(world.gateway.url));
  proxy.cut = cut;
  return await attached(world, `http://127.0.0.1:${proxy.port}`, ask, intent, "0");
}

/** How many bytes the longest connection of an uncut attach carries each way. */
async function mostBytes(world: CutWorld, ask: Ask): Promise<{ readonly up: number; readonly down: number }> {
  await using proxy = await CuttingProxy.open(portOf(world.gateway.url));
  const attach = await attached(world, `http://127.0.0.1:${proxy.port}`, ask, "create", "0");
  if (attach.end === undefined) throw new Error(`${ask.name} has no end`);
  return { ...proxy.most };
}

function chunksOf(attach: RawAttach) {
  return attach.chunks.map((chunk) => ({
    eventId: chunk.eventId,
    isEnd: chunk.streamEnd !== undefined,
    bytes: Buffer.from(toBinary(ChunkSchema, chunk)).toString("hex"),
  }));
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}
