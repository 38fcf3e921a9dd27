import { type RawAttach, say } from "./raw-client.fake.ts";
import { attach, newNames, type StreamWorldOptions, streamWorld } from "./stream-world.fake.ts";

export const lastOf = ({ chunks }: RawAttach) => chunks.at(-1)?.eventId ?? "0";

export async function begun(options: StreamWorldOptions = {}, question = "Hello") {
  const world = await streamWorld(options);
  const names = newNames();
  const first = attach(world, "bidi", names).send(say.request(question));
  await first.until(({ acks, chunks }) => acks.includes(0) && chunks.length > 0);
  return { world, names, first };
}
