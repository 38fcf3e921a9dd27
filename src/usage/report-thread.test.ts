import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { turnFake } from "./history/history.fake.ts";
import type { UsageHistory } from "./history/history.ts";
import { now, openedHistory } from "./history/opened-history.fake.ts";
import { openReportThread } from "./report-thread.ts";
import { reportsOf } from "./reports.ts";

let history: UsageHistory;
let thread: ReturnType<typeof openReportThread>;

beforeEach(() => {
  const opened = openedHistory();
  history = opened.history;
  thread = openReportThread(opened.file);
});

afterEach(async () => {
  await thread.close();
  history.close();
});

const query = { sinceMs: now - 900_000, untilMs: now + 1, by: "model", timeZone: "UTC" } as const;
const page = { ...query, order: "time", descending: true, offset: 0, limit: 9, sums: true } as const;

describe("a thread that makes reports", () => {
  it("answers as the history itself does, with what was added a moment ago", async () => {
    const here = reportsOf(history);
    for (let n = 0; n < 3; n++) {
      history.addTurn(turnFake({ turnId: `turn_${n}`, endedAtMs: now - n, modelName: "opus" }));
      expect(await thread.ask("turnPage", page)).toEqual(await here("turnPage", page));
    }
    expect(await thread.ask("usage", query)).toEqual(await here("usage", query));
    expect(await thread.ask("turnBars", query, 900_000)).toEqual(await here("turnBars", query, 900_000));
  });

  it("passes on why a report cannot be made, and makes the next one", async () => {
    const asked = thread.ask("usage", { ...query, by: "day", timeZone: "Mars/Olympus" });
    await expect(asked).rejects.toMatchObject({ code: "invalid_request" });
    expect(await thread.ask("usage", query)).toMatchObject({ rows: [] });
  });

  it("lets the event loop go on while a report reads", async () => {
    const slow = thread.ask("turnBars", { sinceMs: 0, untilMs: now, search: "x" }, 1);
    const order: string[] = [];
    setImmediate(() => order.push("other work"));
    await slow;
    expect(order).toEqual(["other work"]);
  });

  it("starts again after it was closed", async () => {
    await thread.ask("usage", query);
    await thread.close();
    expect(await thread.ask("usage", query)).toMatchObject({ rows: [] });
  });
});
