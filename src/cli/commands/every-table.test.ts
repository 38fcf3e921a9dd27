import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CascadeId } from "../../base/ids.ts";
import { encodeModel } from "../../gateway/dashboard/inventory.ts";
import { fakeModelOf } from "../../models/models.fake.ts";
import type { UsageEnvelope } from "../../usage/envelope.ts";
import { showTurns } from "../chat/turn-list.ts";
import type { OwnConversation } from "../compose/own-cascades.ts";
import { printConversations } from "../doctor/conversations.ts";
import { displayWidth } from "../terminal/display-width.ts";
import { fakeIo } from "../terminal/io.fake.ts";
import { openOutput } from "../terminal/output.ts";
import { printTable } from "../terminal/table.ts";
import { printElsewhere, printSpend } from "../terminal/usage-table.ts";
import { printSettings } from "./config.ts";
import { printKeys } from "./keys.ts";
import { familiesOf, familyColumns, familyRow, modelColumns, modelRow } from "./models.ts";

const nowMs = Date.parse("2026-11-27T10:00:00Z");
const names = [
  "claude-opus-4.7:medium-thinking-fast-1m",
  "opencode/openrouter/moonshotai/kimi-k2-thinking-turbo:high",
  "模型-超长的名字-思考版本-高-一百万上下文窗口",
  "😀".repeat(24),
];
const paths = [
  "/home/someone/work/clients/2026/a-rather-long-customer-name/services/billing",
  "C:\\用户\\工作\\项目\\很长的路径\\服务",
];
const clients = ["claude-code/2.0.14 (external, cli)", "opencode/1.0.203", "客户端/1.0", "x"];
const each = <T>(row: (name: string, at: number) => T) => names.map(row);

/** Usual names: a model's is never cut while another column can leave. */
const usual = ["claude-opus-4.7:medium", "gemini-3.5-flash:medium", "claude-3.7-sonnet-thinking"];

const screen = (columns: number, called: readonly string[]) => {
  const io = fakeIo({ homeFolder: "/nowhere" });
  const stdout = Object.assign(io.stdout, { isTTY: true, columns });
  const clock = { ...io.clock, now: () => nowMs };
  const out = openOutput(stdout, io.stderr, { NO_COLOR: "1" });
  return {
    io: { ...io, clock, stdout },
    out,
    called,
    settings: { gatewayFile: "/nowhere" },
    lines: () => io.written.stdout().trimEnd().split("\n"),
  };
};
type Screen = ReturnType<typeof screen>;

const spend = (key: string) => ({
  key,
  name: key,
  turns: 12_345,
  finished: 12_000,
  failed: 345,
  cancelled: 0,
  prompt_tokens: 123_456_789,
  completion_tokens: 9_876_543,
  thinking_tokens: 1_234_567,
  cached_prompt_tokens: 0,
  estimated_turns: 1,
  estimated_tokens: 1,
  unknown_turns: 0,
  credits: 12_345.5,
  credits_known_turns: 1,
  credits_estimated: 12_345.25,
  credits_estimated_turns: 1,
  duration_ms: 1,
  mean_first_token_ms: 123_456,
});
const usage = (by: UsageEnvelope["by"], keys: readonly string[]): UsageEnvelope => ({
  object: "usage",
  since: "",
  until: "",
  by,
  time_zone: "UTC",
  used_outside: [],
  data: keys.map(spend),
  elsewhere: {
    problem: null,
    data: keys.map((name) => ({
      key: name,
      name,
      calls: 12_345,
      input_tokens: 123_456_789,
      cache_read_tokens: 123_456_789,
      cache_creation_tokens: 123_456_789,
      output_tokens: 9_876_543,
    })),
  },
});

const modelsCalled = (called: readonly string[]) =>
  called.flatMap((name, at) =>
    [":low", ":medium", ":high", ":xhigh"].map((effort) =>
      encodeModel(
        fakeModelOf(`${name.split(":")[0]}${effort}`, {
          creditMultiplier: at * 12.25,
          contextTokens: 1_048_576,
          isNew: true,
          isDefault: at === 1,
        }),
        undefined,
      ),
    ),
  );
/** Every table of every command, with the longest names; and the columns that 80 columns show at least. */
const tables: Readonly<
  Record<string, { readonly file: string; readonly print: (at: Screen) => void; readonly at80: readonly string[] }>
> = {
  "tail --list": {
    file: "chat/turn-list.ts",
    at80: ["TURN", "AGE", "STATUS", "CLIENT", "MODEL", "QUESTION"],
    print: ({ out, io, settings }) =>
      showTurns(
        each((model, at) => ({
          id: `turn_01k0000000000000000000${at}vg9ncb2`,
          created_at: new Date(nowMs - 99 * 3_600_000).toISOString(),
          status: "cancelled" as const,
          model,
          client: clients[at] ?? null,
          question: "为什么这个测试失败了? Why does this test fail on a machine that has two network cards? 😀",
        })),
        false,
        { out, io, settings } as never, // all that it reads
      ),
  },
  models: {
    file: "commands/models.ts",
    at80: ["NAME", "COST", "NOTES"],
    print: ({ out, called }) => {
      const models = modelsCalled(called);
      const rows = familiesOf(models, () => undefined).map((family) => familyRow(family));
      printTable(familyColumns, rows, out);
    },
  },
  "models --all": {
    file: "commands/models.ts",
    at80: ["NAME", "COST", "NOTES"],
    print: ({ out, called }) => {
      const models = modelsCalled(called);
      const rows = models.map(modelRow);
      printTable(modelColumns, rows, out);
    },
  },
  "usage --by model": {
    file: "terminal/usage-table.ts",
    at80: ["model", "turns", "prompt", "completion", "credits"],
    print: ({ out }) => printSpend(usage("model", names), out),
  },
  "usage --by project": {
    file: "terminal/usage-table.ts",
    at80: ["project", "turns", "prompt", "completion", "credits"],
    print: ({ out }) => printSpend(usage("project", paths), out),
  },
  "usage, without Millrace": {
    file: "terminal/usage-table.ts",
    at80: ["model", "input", "cache read", "output"],
    print: ({ out }) => void printElsewhere(usage("model", names), out),
  },
  keys: {
    file: "commands/keys.ts",
    at80: ["NAME", "STATE", "TODAY (UTC)", "EXPIRES (UTC)"],
    print: ({ out }) =>
      printKeys(
        each((name, at) => ({
          id: "1",
          name: `${"a".repeat(60)}${at}`,
          createdAtMs: 0,
          salt: "s",
          hash: "h",
          models: [name, name],
          turnsPerDay: 1_000_000,
          expiresAtMs: nowMs + 1,
        })),
        { nowMs, wide: false },
        out,
      ),
  },
  "config get": {
    file: "commands/config.ts",
    at80: ["setting", "value", "from"],
    print: ({ out }) =>
      printSettings(
        each((value, at) => ({ key: "serve.allow_origin", value, source: paths[at % 2] ?? "" })),
        false,
        out,
      ),
  },
  "doctor --conversations": {
    file: "doctor/conversations.ts",
    at80: ["CONVERSATION", "LAST USED", "MODEL", "SIZE"],
    print: ({ out }) =>
      printConversations(
        each((model, at) => ({
          cascadeId: "0d5e7a52-1111-4222-8333-444455556666" as CascadeId, // in the form of one
          atMs: nowMs - 99 * 3_600_000,
          model,
          client: clients[at],
          file: { bytes: 123e6 } as NonNullable<OwnConversation["file"]>, // all that is printed of it
        })),
        nowMs,
        out,
      ),
  },
};

describe.each(Object.entries(tables))("the table of %s", (_, { print, at80 }) => {
  it.each([60, 80, 120])("fits %i columns, with the longest names", (columns) => {
    const at = screen(columns, names);
    print(at);
    for (const line of at.lines())
      expect([displayWidth(line), line]).toEqual([expect.toSatisfy((width: number) => width <= columns), line]);
  });

  it("shows at 80 columns what one decides by", () => {
    const at = screen(80, usual);
    print(at);
    const header = at.lines().find((line) => line.startsWith(at80[0] ?? "")) ?? "";
    for (const title of at80) expect(header.split(/ {2,}/)).toContain(title);
  });
});

it("no other file prints a table", () => {
  const folder = join(import.meta.dirname, "..");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && file !== "terminal/table.ts")
    .filter((file) => readFileSync(join(folder, file), "utf8").includes("printTable("));
  expect(files.toSorted()).toEqual([...new Set(Object.values(tables).map(({ file }) => file))].toSorted());
});
