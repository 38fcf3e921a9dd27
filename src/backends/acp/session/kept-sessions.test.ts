import { expect, it } from "vitest";
import { makeRoom, supersede } from "./kept-sessions.ts";
import { hello, PlayedProcess, relayed, tool } from "./session.fake.ts";

/** A process with sessions whose prompts wait; `ending` are those that are being deleted. */
function world() {
  const process = new PlayedProcess();
  const park = async (id: string) => {
    const relay = relayed();
    relay.tools.offer([tool]);
    const session = process.sessions.get(id) ?? process.open(id, relay.tools);
    const isNew = session.take() && session.prompt === undefined;
    if (isNew) session.send([]);
    if (isNew) relay.say(hello(`call of ${id}`));
    session.give(session.fresh);
    session.release();
    await process.clock.advance(1);
  };
  const ending = () =>
    [...process.sessions.values()].filter(({ state }) => state.place === "ending").map(({ id }) => id);
  return { process, park, ending };
}

const sixteen = Array.from({ length: 16 }, (_, n) => `session ${n + 1}`);

it("16 prompts wait; each further one cancels the one that waits the longest, once", async () => {
  const { process, park, ending } = world();
  for (const id of sixteen) await park(id);
  makeRoom([process]);
  expect(ending()).toEqual([]);
  for (const id of ["session 17", "session 18"]) {
    await park(id);
    makeRoom([process]);
  }
  expect(ending()).toEqual(["session 1", "session 2"]);
});

it("a prompt that waits again counts from then on, and takes one place", async () => {
  const { process, park, ending } = world();
  for (const id of [...sixteen, "session 1"]) await park(id);
  makeRoom([process]);
  expect(ending()).toEqual([]);
  await park("session 17");
  makeRoom([process]);
  expect(ending()).toEqual(["session 2"]);
});

it("a prompt that goes on is not cancelled, and leaves its place", async () => {
  const { process, park, ending } = world();
  for (const id of sixteen) await park(id);
  process.sessions.get("session 1")?.take();
  await park("session 17");
  makeRoom([process]);
  expect(ending()).toEqual([]);
});

it("a request that names the call of a prompt in another way cancels that prompt alone", async () => {
  const { process, park, ending } = world();
  for (const id of ["a", "b"]) await park(id);
  supersede([process], ["call of b", "call of c"]);
  expect(ending()).toEqual(["b"]);
});
