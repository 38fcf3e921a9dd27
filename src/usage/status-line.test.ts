import { describe, expect, it } from "vitest";
import { antigravitySnapshot } from "./antigravity-plan.ts";
import { encodeLimits, type LimitsEnvelope } from "./envelope.ts";
import type { LimitsSnapshot } from "./limits.ts";
import { paceOf } from "./pace.ts";
import { fixture, windsurfFixture } from "./snapshot.fake.ts";
import { type StatusLineOptions, statusLine } from "./status-line.ts";
import { windsurfSnapshot } from "./windsurf-plan.ts";

const now = Date.parse("2026-02-24T12:00:00Z");
const plain: StatusLineOptions = { format: "plain", template: undefined, ide: undefined, window: undefined };

function limits(...snapshots: readonly LimitsSnapshot[]): LimitsEnvelope {
  const readings = snapshots.map((snapshot) => ({
    snapshot,
    paces: paceOf([snapshot], now),
    expiresAtMs: now + 1,
    stale: snapshot.ide === "antigravity",
  }));
  return encodeLimits({ nowMs: now, readings, errors: [] });
}

const windsurf = (name: string) =>
  windsurfSnapshot(windsurfFixture(name), {
    ide: "windsurf",
    build: "2.3.15",
    readAtMs: now,
    source: "language_server",
  });
const antigravity = () =>
  antigravitySnapshot(
    { userStatus: fixture("fractions"), quotaSummary: fixture("pools") },
    { ide: "antigravity", build: "1.14.2", readAtMs: now, source: "language_server" },
  );

describe("the status line", () => {
  it.each([
    ["quota", "Devin daily 62% resets in 12 h · weekly 81%"],
    ["quota-exhausted", "Devin daily 0%! resets in 12 h · weekly 44%"],
    ["quota-hidden-daily", "Devin weekly 5%! runs out in 5 h 41 min"],
    ["credits", "Devin credits 376 resets in 4 d 12 h · flex 300"],
    ["credits-unlimited", "Devin credits ∞"],
    ["credits-unknown", "Devin credits ?"],
  ])("of %s is %s", (name, line) => {
    expect(statusLine(limits(windsurf(name)), plain, now)).toBe(line);
  });

  it("names every IDE, says how old a reading is that is not fresh, and warns of what will not last", () => {
    expect(statusLine(limits(windsurf("quota"), antigravity()), plain, now)).toBe(
      "Devin daily 62% · weekly 81%  Antigravity gemini weekly 55% · gemini 5h 100% · 3p weekly 25%! runs out in 1 d 9 h · 3p 5h 90%",
    );
    const fiveMinutesOn = statusLine(limits(windsurf("quota"), antigravity()), plain, now + 300_000);
    expect(fiveMinutesOn).toMatch(/^Devin daily .* Antigravity \(read 5 min ago\) gemini/);
  });

  it("does not show a window that is over as if it were current", () => {
    const later = Date.parse("2026-02-25T00:00:01Z");
    expect(statusLine(limits(windsurf("quota")), plain, later)).toBe("Devin daily ? · weekly 81% resets in 1 d 23 h");
  });

  it("is empty when nothing is known, or nothing of what is asked for", () => {
    expect(statusLine(limits(), plain, now)).toBe("");
    expect(statusLine(limits(windsurf("quota")), { ...plain, ide: "antigravity" }, now)).toBe("");
  });

  it("fills a template for the limit that is nearest to its end, or for the chosen one", () => {
    const both = limits(windsurf("quota"), antigravity());
    const template = "{ide}/{window} {percent_left}% in {resets_in}{stale}";
    expect(statusLine(both, { ...plain, template }, now)).toBe("antigravity/3p-weekly 25% in 2 d 21 h~");
    expect(statusLine(both, { ...plain, template, window: "daily" }, now)).toBe("devin/daily 62% in 12 h");
    expect(() => statusLine(both, { ...plain, template: "{colour}" }, now)).toThrow(
      expect.objectContaining({ code: "invalid_request", hint: expect.stringContaining("{resets_in}") }),
    );
  });

  it("speaks each bar's own language", () => {
    const exhausted = limits(windsurf("quota-exhausted"));
    const as = (format: StatusLineOptions["format"]) => statusLine(exhausted, { ...plain, format }, now);
    expect(as("claude-code")).toBe("Devin \u001B[31mdaily 0%! resets in 12 h\u001B[0m · \u001B[32mweekly 44%\u001B[0m");
    expect(as("tmux")).toBe("Devin #[fg=red]daily 0%! resets in 12 h#[default] · #[fg=green]weekly 44%#[default]");
    expect(as("starship")).toBe("Devin daily 0%! resets in 12 h · weekly 44%");
    expect(as("swiftbar").split("\n")).toEqual([
      "Devin daily 0%! resets in 12 h · weekly 44%",
      "---",
      "Devin, Daily quota: 0%! left, resets in 12 h | color=#e0645b",
      "Devin, Weekly quota: 44% left, resets in 2 d 12 h | color=#2f9f77",
    ]);
    expect(as("xbar")).toBe(as("swiftbar"));
    expect(as("polybar")).toBe("Devin %{F#e0645b}daily 0%! resets in 12 h%{F-} · %{F#2f9f77}weekly 44%%{F-}");
    expect(JSON.parse(as("waybar"))).toEqual({
      text: "Devin daily 0%! resets in 12 h · weekly 44%",
      tooltip: expect.stringContaining("Weekly quota: 44% left"),
      class: "bad",
      percentage: 0,
    });
    expect(JSON.parse(statusLine(limits(), { ...plain, format: "waybar" }, now))).toMatchObject({ class: "unknown" });
  });

  it("names today's product, and marks a saved plan if there is room", () => {
    const saved = { ...windsurf("quota"), build: "3.10.48", source: "saved_plan", readAtMs: now - 60_000 } as const;
    const as = (more: Partial<StatusLineOptions>) => statusLine(limits(saved), { ...plain, ...more }, now);
    expect(as({})).toBe("Devin daily 62% resets in 12 h · weekly 81%");
    expect(as({ template: "{product}: {source}, {read_at}" })).toBe(
      "Devin Desktop 3.10 (formerly Windsurf): saved plan, 2026-02-24T11:59:00.000Z",
    );
    expect(JSON.parse(as({ format: "waybar" }))).toMatchObject({
      tooltip: expect.stringContaining("(saved plan, read at 2026-02-24T11:59:00.000Z)"),
    });
  });

  it("lets no text of a plan become a bar's command", () => {
    const snapshot = windsurf("quota");
    const named = { ...snapshot, planName: "#(rm -rf) <b>", windows: snapshot.windows };
    const tmux = statusLine(limits(named), { ...plain, format: "tmux", template: "{plan}" }, now);
    expect(tmux).toBe("#[fg=green]##(rm -rf) <b>#[default]");
    const tagged = { ...snapshot, planName: "%{A1:rm -rf:}x | bash=rm", windows: snapshot.windows };
    const tags = (format: "polybar" | "xbar") =>
      statusLine(limits(tagged), { ...plain, format, template: "{plan}" }, now).split("\n")[0];
    expect([tags("polybar"), tags("xbar")]).toEqual([
      "%{F#2f9f77}% {A1:rm -rf:}x | bash=rm%{F-}",
      "%{A1:rm -rf:}x / bash=rm",
    ]);
    expect(statusLine(limits(named), { ...plain, format: "waybar", template: "{plan}" }, now)).toContain("&lt;b&gt;");
  });
});
