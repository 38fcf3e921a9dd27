import { expect, test } from "vitest";
import { FakeClock } from "../../base/clock.fake.ts";
import type { DiscoveryResult } from "../../ide/ide.ts";
import { healthDetails, spellEditor, spellTarget } from "./health-details.ts";

const none: DiscoveryResult = { ides: [], agents: [], apps: [], readSavedPlans: async () => [], trace: [], atMs: 0 };
const backends = {
  chosen: async () =>
    ({ kind: "cascade", why: "There is one IDE.", agent: undefined, beside: undefined, isMoved: () => false }) as const,
};

test("health waits 50 ms for a search of the IDE at most, and then says what the last one found", async () => {
  const clock = new FakeClock();
  const searches: PromiseWithResolvers<DiscoveryResult>[] = [];
  const find = () => {
    const search = Promise.withResolvers<DiscoveryResult>();
    searches.push(search);
    return search.promise;
  };
  const details = healthDetails({ find }, backends, { clock });
  const found = (atMs: number) => ({ looked_at: new Date(atMs).toISOString(), ides: [], backend: { kind: "cascade" } });
  const asked = async () => {
    const answer = details();
    await clock.advance(50);
    return answer;
  };
  expect(await asked()).toBeUndefined();
  expect(await asked()).toBeUndefined();
  expect(searches).toHaveLength(1); // the second question waits for the first one's search
  searches[0]?.resolve({ ...none, atMs: 1_000 });
  expect(await details()).toMatchObject(found(1_000));
  expect(await asked()).toMatchObject(found(1_000)); // the second search is late
  searches[1]?.resolve({ ...none, atMs: 2_000 });
  expect(await details()).toMatchObject(found(2_000));
});

test("a newcomer reads the product, and the reason only where prompts go nowhere", () => {
  const editor = spellEditor("Devin Desktop 2.3 (formerly Windsurf)", "Teams");
  expect(spellTarget({ kind: "cascade", why: "because" }, editor)).toBe(
    "Devin Desktop 2.3 (formerly Windsurf) (Teams)",
  );
  expect(spellTarget({ kind: "acp", why: "because", product: "Devin CLI" }, editor)).toBe("Devin CLI");
  expect(spellTarget({ kind: "raw_chat", why: "because", beside: "Devin CLI" }, undefined)).toBe(
    "raw chat; models that only its agent offers go to Devin CLI (ACP)",
  );
  expect(spellTarget({ kind: "none", why: "No IDE runs.", hint: "Start one." }, undefined)).toBe(
    "nothing yet: No IDE runs. Start one.",
  );
});
