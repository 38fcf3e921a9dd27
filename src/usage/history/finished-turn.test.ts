import { describe, expect, it } from "vitest";
import { MillraceError } from "../../base/errors.ts";
import { type OutlinedEvent, shorten } from "../../log/event.ts";
import { finishedTurn } from "./finished-turn.ts";
import { eventsFake, recordFake, startedFake } from "./history.fake.ts";
import { projectFromMessages } from "./project-of.ts";

const counts = { promptTokens: 100, completionTokens: 20, thinkingTokens: 5 };
const end = { type: "finished", reason: { unified: "stop", raw: "DONE" }, text: "Hi" } as const;

const rowOf = (record: ReturnType<typeof recordFake>, events: readonly OutlinedEvent[]) =>
  finishedTurn({ ...record, outline: events.reduce(shorten, []) });

describe("the history's row of a turn", () => {
  it("has the model that answered, its tokens, its times and its outcome", () => {
    const events = eventsFake(
      1500,
      startedFake,
      { type: "thinking", delta: "hm" },
      { type: "text", delta: "Hi" },
      { type: "usage", ...counts, cachedPromptTokens: 50, creditsHundredths: 150, estimated: false },
      end,
    );
    expect(rowOf(recordFake({ project: "engine" }), events)).toEqual({
      turnId: "turn_1",
      startedAtMs: 1000,
      endedAtMs: 1900,
      model: "claude-opus-4-5",
      dialect: "openai-chat",
      client: "opencode",
      project: "engine",
      ide: "windsurf",
      tokenSource: "measured",
      ...counts,
      cachedPromptTokens: 50,
      creditsHundredths: 150,
      firstTokenMs: 600,
      outcome: "finished",
      reason: "stop",
    });
  });

  it("takes the measured count where an estimate stands beside it, whichever came last", () => {
    const measured = { type: "usage", ...counts, estimated: false } as const;
    const estimate = {
      type: "usage",
      promptTokens: 7,
      completionTokens: 7,
      thinkingTokens: 0,
      estimated: true,
    } as const;
    for (const usages of [
      [measured, estimate],
      [estimate, measured],
    ]) {
      const row = rowOf(recordFake({}), eventsFake(1500, startedFake, ...usages, end));
      expect(row).toMatchObject({ tokenSource: "measured", promptTokens: 100 });
    }
    const row = rowOf(recordFake({}), eventsFake(1500, estimate, end));
    expect(row).toMatchObject({ tokenSource: "estimated", promptTokens: 7 });
  });

  it("says unknown where nothing was counted, and why a turn failed or was cancelled", () => {
    const failed = { type: "failed", error: new MillraceError("quota_exhausted", "none left").toRecord() } as const;
    expect(rowOf(recordFake({ client: undefined }), eventsFake(1500, failed))).toMatchObject({
      tokenSource: "unknown",
      model: "opus-asked",
      client: undefined,
      firstTokenMs: undefined,
      ide: undefined,
      creditsHundredths: 0,
      outcome: "failed",
      reason: "quota_exhausted",
    });
    const cancelled = { type: "cancelled", by: "client" } as const;
    expect(rowOf(recordFake({}), eventsFake(1500, startedFake, cancelled))).toMatchObject({
      outcome: "cancelled",
      reason: "client",
    });
  });

  it("has no IDE and no known cost if an older log does not have them", () => {
    const { ide: _, ...older } = startedFake;
    const failed = { type: "failed", error: new MillraceError("upstream_failed", "gone").toRecord() } as const;
    expect(rowOf(recordFake({}), eventsFake(1500, older, failed))).toMatchObject({
      ide: undefined,
      creditsHundredths: undefined,
    });
    const foreign = { ...older, ide: "antigravity" };
    expect(rowOf(recordFake({}), eventsFake(1500, foreign, end))).toMatchObject({ ide: undefined });
  });

  it("does not exist before the turn's end", () => {
    expect(rowOf(recordFake({}), eventsFake(1500, startedFake))).toBeUndefined();
  });
});

describe("the project of a turn", () => {
  const projectIn = (text: string) =>
    projectFromMessages({ messages: [{ role: "system", parts: [{ type: "text", text }] }] });

  it.each([
    [
      "Claude Code and OpenCode",
      "You help.\n<env>\nWorking directory: /home/ada/my engine\nIs git repo: yes\n</env>",
      "/home/ada/my engine",
    ],
    [
      "Codex",
      "<environment_context>\n  <cwd>/home/ada/engine</cwd>\n  <shell>bash</shell>\n</environment_context>",
      "/home/ada/engine",
    ],
    [
      "newer Claude Code",
      "# Environment\n - Primary working directory: /home/ada/engine\n - Platform: linux",
      "/home/ada/engine",
    ],
    ["Windows", "Working directory: C:\\Users\\Ada\\engine", "C:\\Users\\Ada\\engine"],
  ])("is the folder that %s names", (_, system, folder) => {
    expect(projectIn(system)).toBe(folder);
  });

  it("is unknown where a prompt merely talks of working directories", () => {
    expect(projectIn("Never change the working directory: it is shared.")).toBeUndefined();
    expect(projectIn("Be brief.")).toBeUndefined();
  });
});
