import { expect, test } from "vitest";
import { MillraceError } from "../../base/errors.ts";
import { type EventId, startOfLog } from "../../base/ids.ts";
import { canTakeOver } from "./can-take-over.ts";

test("a turn that has begun goes on with the IDE of its machine, one that has not with any, and none without an IDE", async () => {
  const { signal } = new AbortController();
  const cascade = {
    kind: "cascade",
    why: "it is there",
    agent: undefined,
    beside: undefined,
    isMoved: () => false,
  } as const;
  const here = canTakeOver("here/1/x", { chosen: async () => cascade });
  const begun = "3" as EventId;
  expect(await here({ owner: "here/2/y", lastEventId: begun }, signal)).toBe(true);
  expect(await here({ owner: "there/2/y", lastEventId: begun }, signal)).toBe(false);
  expect(await here({ owner: "there/2/y", lastEventId: startOfLog }, signal)).toBe(true);
  const none = new MillraceError("ide_not_running", "There is none.");
  const without = canTakeOver("here/1/x", { chosen: () => Promise.reject(none) });
  expect(await without({ owner: "here/2/y", lastEventId: begun }, signal)).toBe(false);
  expect(await without({ owner: "there/2/y", lastEventId: startOfLog }, signal)).toBe(false);
});
