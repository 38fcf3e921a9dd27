import { describe, expect, it } from "vitest";
import { type ContractReport, renderContract } from "./report.ts";

const plain = (_: unknown, text: string) => text;
const check = { sentence: "", source: "", certainty: "" };
const long = "The IDE's server ended during the answer and did not come back. The part that arrived was kept.";
const report: ContractReport = {
  millrace: "0.0.0",
  platform: "linux",
  at: "2026-01-01T00:00:00.000Z",
  data: [
    {
      product: "Devin Desktop 3.10 (formerly Windsurf)",
      what: "agent program",
      version: "3.10.48",
      checks: [
        {
          ...check,
          id: "agent.modes",
          verdict: "ok",
          seen: "accept-edits, smart, ask, plan, bypass; accept-edits at first",
        },
        { ...check, id: "agent.list", verdict: "unknown", seen: long },
      ],
    },
  ],
  missing: ["No `devin` program was found here. Install Devin Desktop or the Devin CLI, sign in there, and try again."],
};

describe("the table of the contract", () => {
  it("fits a terminal of 80 columns, with every word", () => {
    const lines = renderContract(report, plain, 80);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    const words = (text: readonly string[]) => text.join(" ").split(/\s+/).toSorted();
    expect(words(lines)).toEqual(words(renderContract(report, plain, Number.POSITIVE_INFINITY)));
  });

  it("has a line for each row in a pipe", () => {
    const lines = renderContract(report, plain, Number.POSITIVE_INFINITY);
    expect(lines.filter((line) => line.includes("unknown "))).toHaveLength(1);
    expect(lines.some((line) => line.endsWith(long))).toBe(true);
  });

  it("continues under its last column", () => {
    const lines = renderContract(report, plain, 60);
    const at = lines.findIndex((line) => line.includes("agent.modes"));
    expect(lines.slice(at, at + 2)).toEqual([
      "  ok       agent.modes  accept-edits, smart, ask, plan,",
      `${" ".repeat(24)}bypass; accept-edits at first`,
    ]);
  });
});
