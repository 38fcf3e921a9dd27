import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MillraceError } from "../base/errors.ts";
import { defineCommand } from "./command.ts";
import { main } from "./main.ts";
import { choice, duration, flag, integer, ofServe, texts } from "./options.ts";
import { everyday, outlines } from "./outlines.ts";
import { runMain } from "./run-main.fake.ts";
import { fakeIo } from "./terminal/io.fake.ts";

const homeFolder = mkdtempSync(join(tmpdir(), "millrace-cli-"));

const probe = defineCommand({
  name: "probe",
  summary: "Shows what it was given",
  group: "Look",
  options: {
    port: integer("the port", "<port>", { min: 0, max: 65_535, initial: 42_100 }, { env: "PROBE_PORT" }),
    grace: duration("the time", 120_000, { env: "PROBE_GRACE" }),
    store: choice("the store", ["sqlite", "memory"], "sqlite"),
    home: texts("more homes", "<folder>"),
    fail: flag("fail"),
    crash: flag("crash"),
    ...ofServe({ logLevel: choice("what is logged", ["info", "warn"], "warn") }),
    json: flag("print JSON"),
  },
  arguments: [{ name: "word", summary: "a word", required: false, variadic: true }],
  examples: [["millrace probe", "shows"]],
  run({ options, args }, { out }) {
    if (options.fail) throw new MillraceError("ide_not_running", "No IDE runs.");
    if (options.crash) throw new Error("secret detail");
    out.json({ ...options, args });
    return Promise.resolve();
  },
});

const millrace = (argv: readonly string[], env: Record<string, string> = {}) =>
  runMain(argv, [probe], { homeFolder, env });

test("options take their defaults, then the environment, then the command line", async () => {
  expect(JSON.parse((await millrace(["probe"])).stdout)).toMatchObject({
    port: 42_100,
    grace: 120_000,
    home: [],
    args: [],
  });
  expect(JSON.parse((await millrace(["probe"], { PROBE_PORT: "7", PROBE_GRACE: "0" })).stdout)).toMatchObject({
    port: 7,
    grace: 0,
  });
  const given = await millrace(["probe", "--port", "8", "--grace", "1.5m", "--home", "a", "--home", "b", "x", "y"], {
    PROBE_PORT: "7",
  });
  expect(JSON.parse(given.stdout)).toMatchObject({ port: 8, grace: 90_000, home: ["a", "b"], args: ["x", "y"] });
});

test("an empty text is refused, and a home that is not a whole path: a script's variable is not set", async () => {
  expect(await millrace(["probe", "--home", ""])).toMatchObject({
    code: 64,
    stderr: expect.stringContaining(`--home: "" is not a <folder>.`),
  });
  expect(await millrace(["probe", "--grace", "99999999999d"])).toMatchObject({
    code: 64,
    stderr: expect.stringContaining("36500d at most"),
  });
  expect(await millrace(["probe"], { MILLRACE_HOME: "state" })).toMatchObject({
    code: 64,
    stderr: expect.stringContaining("Set it to a whole path, such as /"),
  });
});

test("a wrong value exits 64 and says what would be right, also from the environment", async () => {
  expect(await millrace(["probe", "--port", "70000"])).toMatchObject({
    code: 64,
    stderr: expect.stringContaining(`--port: "70000" is not a whole number from 0 to 65535.`),
  });
  expect(await millrace(["probe", "--store", "paper"])).toMatchObject({
    code: 64,
    stderr: expect.stringContaining("one of sqlite, memory"),
  });
  expect(await millrace(["probe"], { PROBE_GRACE: "soon" })).toMatchObject({
    code: 64,
    stderr: expect.stringContaining("PROBE_GRACE"),
  });
});

test("an unknown command or option exits 64 with the nearest name", async () => {
  expect(await millrace(["prope"])).toMatchObject({
    code: 64,
    stderr:
      "error: Unknown command 'prope'.\nhint: Did you mean probe? `millrace --help` lists the commands and their options.\n",
  });
  expect(await millrace(["probe", "--prot", "1"])).toMatchObject({
    code: 64,
    stderr: expect.stringContaining("Did you mean --port?"),
  });
});

test.each([
  ["top", "Did you mean status?"],
  ["start", "Did you mean serve?"],
  ["Upgrade", "Did you mean update?"],
  ["version", "Did you mean --version?"],
  ["xyzzy", "hint: `millrace --help`"],
])("what another program calls a command (%s) is told by our name for it", async (typed, says) => {
  const io = fakeIo({ homeFolder });
  const all = ["status", "stop", "restart", "serve", "update", "usage"].map((name) => ({ ...probe, name }));
  expect(await main([typed], io, all)).toBe(64);
  expect(io.written.stderr()).toContain(says);
});

test("the nearest name can be a command that the short help leaves out", async () => {
  const io = fakeIo({ homeFolder });
  const all = ["logs", "status"].map((name) => ({ ...probe, name }));
  expect(await main(["log"], io, all)).toBe(64);
  expect(io.written.stderr()).toContain("Did you mean logs?");
});

test.each([
  [["help", "prope"], "error: Unknown command 'prope'.\nhint: Did you mean probe?"],
  [["prope", "--help"], "error: Unknown command 'prope'.\nhint: Did you mean probe?"],
  [["-h", "prope"], "error: Unknown command 'prope'.\nhint: Did you mean probe?"],
])("help for a command that is not there (%j) exits 64 and names the nearest one", async (argv, message) => {
  const { code, stdout, stderr } = await millrace(argv);
  expect([code, stdout]).toEqual([64, ""]);
  expect(stderr).toContain(message);
});

test.each([
  [["keys", "creat", "x"], "Unknown command 'keys creat'.", "Did you mean create? `millrace keys --help`"],
  [["keys", "--json", "xyzzy"], "Unknown command 'keys xyzzy'.", "`millrace keys --help` lists its commands."],
  [["config", "unst", "port"], "Unknown command 'config unst'.", "Did you mean unset?"],
  [["service", "instal"], "Unknown command 'service instal'.", "Did you mean install?"],
  [["service", "status"], "Unknown command 'service status'.", "Did you mean `millrace status`?"],
  [["usage", "--by", "modl"], '--by: "modl" is not one of', "Did you mean model?"],
])("a mistyped word (%j) exits 64 and names the nearest one", async (argv, message, hint) => {
  const io = fakeIo({ homeFolder });
  expect(await main(argv, io)).toBe(64);
  const written = io.written.stdout() + io.written.stderr();
  expect([written.includes(message), written.includes(hint)]).toEqual([true, true]);
});

test("help knows subcommands", async () => {
  expect((await millrace(["help", "probe"])).stdout).toBe((await millrace(["probe", "--help"])).stdout);
  const io = fakeIo({ homeFolder: "/nonexistent" });
  expect(await main(["help", "keys", "create"], io)).toBe(0);
  expect(io.written.stdout()).toContain("Usage: millrace keys create");
});

test("a wrong command line is reported in the style of every other error", async () => {
  expect((await millrace(["probe", "--prot", "1"])).stderr).toBe(
    "error: Unknown option '--prot'.\nhint: Did you mean --port? `millrace probe --help` lists its options.\n",
  );
});

test.each([40, 80, 120])("help fits a terminal of %d columns and breaks between words", async (columns) => {
  const io = fakeIo({ homeFolder });
  Object.assign(io.stdout, { isTTY: true, columns });
  expect(await main(["help", "--all"], io)).toBe(0);
  const lines = io.written.stdout().split("\n");
  expect(lines.filter((line) => line.length > columns)).toEqual([]);
  expect(lines.join(" ").replace(/\s+/g, " ")).toContain(
    "no account is signed in, or the user, key, plan or account does not allow it",
  );
});

test("an error prints what happened and what to do next, and with --json is JSON", async () => {
  expect(await millrace(["probe", "--fail"])).toEqual({
    code: 69,
    stdout: "",
    stderr:
      "error: No IDE runs.\nhint: Start Devin Desktop (formerly Windsurf) and open a folder, then send the request again. `millrace doctor` shows where Millrace looked.\n",
  });
  const json = await millrace(["probe", "--fail", "--json"]);
  expect(json.code).toBe(69);
  expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: "ide_not_running", message: "No IDE runs." } });
});

test("a bug exits 70 without showing its text in the message", async () => {
  const crashed = await millrace(["probe", "--crash"]);
  expect(crashed.code).toBe(70);
  expect(crashed.stderr.split("\n")[0]).toBe("error: Something went wrong inside Millrace.");
});

test("help lists commands, options with their variables, examples and exit codes", async () => {
  const help = await millrace(["probe", "--help"]);
  expect(help.code).toBe(0);
  expect(help.stdout).toContain("[PROBE_PORT]");
  expect(help.stdout).toContain("# shows");
  expect((await millrace(["--help"])).stdout).toContain("Exit codes:");
});

test("without a word in a pipe, and with --help, the commands of everyday use are listed; help --all lists each", async () => {
  const listed = async (...argv: readonly string[]) => {
    const io = fakeIo({ homeFolder });
    expect(await main(argv, io)).toBe(0);
    return Object.keys(outlines).filter((name) => new RegExp(`^  ${name} `, "m").test(io.written.stdout()));
  };
  const everydayOnes = Object.keys(outlines).filter((name) => everyday.has(name));
  for (const name of ["stop", "tail", "dashboard", "keys", "uninstall"]) expect(everydayOnes).toContain(name);
  expect(await listed()).toEqual(everydayOnes);
  expect(await listed("--help")).toEqual(everydayOnes);
  expect(await listed("help", "--all")).toEqual(Object.keys(outlines));
});

test("an option that another command explains is taken, and named in one line of the help", async () => {
  expect(JSON.parse((await millrace(["probe", "--log-level", "info"])).stdout)).toMatchObject({ log_level: "info" });
  const { stdout } = await millrace(["probe", "--help"]);
  expect(stdout).toContain("Also takes, as explained by `millrace serve --help`:\n  --log-level\n");
  expect(stdout).not.toContain("what is logged");
});
