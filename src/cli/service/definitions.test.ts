import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { launchdPlist } from "./launchd.ts";
import type { ServiceSpec } from "./service-plan.ts";
import { taskXml } from "./task-scheduler.ts";

const spec: ServiceSpec = {
  program: "/opt/node 24/bin/node",
  args: ["/srv/<a> & 'b'/bin.js", "serve"],
  env: { PATH: "/usr/bin", MILLRACE_HOME: 'a "b" & <c> ü' },
  homeFolder: "/Users/ada",
  folder: "/Users/ada & bob/.millrace",
  configHome: undefined,
  uid: 501,
  user: "PC\\Ada & Bob",
};

function written(name: string, text: string, encoding: BufferEncoding = "utf8"): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, name), text, encoding);
  return join(folder, name);
}

const fixtures = join(import.meta.dirname, "fixtures");

/** There, and so by a name alone: what it reads is a URI, which takes no blank. */
function check(program: string, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8", cwd: fixtures });
  return { status, said: `${stdout}${stderr}` };
}

const hasXmllint = spawnSync("xmllint", ["--version"]).status === 0;

describe.runIf(hasXmllint)("the definitions, by the formats' own rules (needs xmllint)", () => {
  const plist = (text: string) =>
    check("xmllint", "--noout", "--nonet", "--dtdvalid", "plist.dtd", written("a.plist", text));
  const task = (text: string) =>
    check("xmllint", "--noout", "--nonet", "--schema", "task.xsd", written("task.xml", text, "utf16le"));

  test("the launch agent is a property list", () => {
    expect(plist(launchdPlist(spec))).toMatchObject({ status: 0 });
    expect(plist(launchdPlist({ ...spec, env: {} }))).toMatchObject({ status: 0 });
    const wrong = launchdPlist(spec).replace("<true/>", "<yes/>");
    expect(plist(wrong)).toMatchObject({ status: 3, said: expect.stringContaining("yes") }); // it does look
  });

  test("the Windows task follows the schema of tasks", () => {
    expect(task(taskXml(spec))).toMatchObject({ status: 0, said: expect.stringMatching(/validates\n$/) });
    expect(task(taskXml({ ...spec, user: undefined }))).toMatchObject({ status: 0 });
    const wrong = taskXml(spec).replace("PT1M", "PT10S"); // shorter than Windows takes
    expect(task(wrong)).toMatchObject({ status: 3, said: expect.stringContaining("PT10S") });
  });
});

test("the keys of the launch agent have the types of launchd.plist(5)", () => {
  const top = [...launchdPlist(spec).matchAll(/^ {2}<key>(\w+)<\/key>\n {2}<(\w+)/gm)].map(([, key, type]) => [
    key,
    type,
  ]);
  expect(Object.fromEntries(top)).toEqual({
    Label: "string",
    ProgramArguments: "array",
    EnvironmentVariables: "dict",
    RunAtLoad: "true",
    KeepAlive: "dict",
    ProcessType: "string",
    LegacyTimers: "true",
    ThrottleInterval: "integer",
    ExitTimeOut: "integer",
    StandardErrorPath: "string",
  });
});

test.runIf(process.platform === "darwin")("macOS reads the launch agent", () => {
  expect(check("plutil", "-lint", written("dev.millrace.test.plist", launchdPlist(spec)))).toMatchObject({ status: 0 });
});

// It registers a task, so it runs on machines of CI only.
const mayRegister = process.platform === "win32" && process.env["CI"] !== undefined;

test.runIf(mayRegister)("Windows takes the task", () => {
  const name = `MillraceTest${process.pid}`;
  const file = written("task.xml", taskXml({ ...spec, user: undefined }), "utf16le");
  expect(check("schtasks", "/Create", "/TN", name, "/XML", file, "/F")).toMatchObject({ status: 0 });
  expect(check("schtasks", "/Delete", "/TN", name, "/F")).toMatchObject({ status: 0 });
});
