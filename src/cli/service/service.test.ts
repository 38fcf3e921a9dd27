import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { launchdExitCode, launchdPlist } from "./launchd.ts";
import { type ServiceAction, type ServiceSpec, type ServiceStep, spellCommand, takeSteps } from "./service-plan.ts";
import { managerOf } from "./service-spec.ts";
import { systemdUnit } from "./systemd.ts";
import { taskLauncher, taskScript, taskXml } from "./task-scheduler.ts";

const spec: ServiceSpec = {
  program: "/opt/node 24/bin/node",
  args: ["/srv/100% $HOME/bin.js", "serve"],
  env: { PATH: "/usr/bin", MILLRACE_HOME: 'a "b" & <c>' },
  homeFolder: "/home/ada",
  folder: "/home/ada/.millrace",
  configHome: undefined,
  uid: 501,
};

test("the systemd unit quotes what systemd would expand, and restarts only what can succeed", () => {
  expect(systemdUnit(spec)).toBe(`[Unit]
Description=Millrace, a gateway to the models of your IDE

[Service]
Type=exec
ExecStart="/opt/node 24/bin/node" "/srv/100%% $$HOME/bin.js" "serve"
Environment="PATH=/usr/bin"
Environment="MILLRACE_HOME=a \\"b\\" & <c>"
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=64 73
KillMode=process
TimeoutStopSec=30

[Install]
WantedBy=default.target
`);
});

const analyze = spawnSync("systemd-analyze", ["--version"]).status === 0;

test.runIf(analyze)("the systemd unit passes systemd's own check", () => {
  const folder = temporaryFolder();
  const check = (text: string) => {
    const file = join(folder, "millrace.service");
    writeFileSync(file, text);
    const env = { ...process.env, XDG_RUNTIME_DIR: folder };
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--user", file], { env, encoding: "utf8" });
    return { status, ofUnit: stderr.split("\n").filter((line) => line.includes("millrace.service")) };
  };
  const unit = systemdUnit({ ...spec, program: process.execPath });
  expect(check(unit)).toEqual({ status: 0, ofUnit: [] });
  expect(check(unit.replace("RestartSec=5", "RestartSec=soon")).ofUnit).not.toEqual([]); // it does look
});

test("the launch agent is restarted unless it ended well, and its texts are escaped", () => {
  const plist = launchdPlist(spec);
  expect(plist).toContain("    <string>/opt/node 24/bin/node</string>\n    <string>/srv/100% $HOME/bin.js</string>\n");
  expect(plist).toContain("<key>MILLRACE_HOME</key>\n    <string>a &quot;b&quot; &amp; &lt;c&gt;</string>");
  expect(plist).toContain("<key>KeepAlive</key>\n  <dict>\n    <key>SuccessfulExit</key>\n    <false/>");
  expect(plist).toContain("<string>/home/ada/.millrace/logs/gateway.err</string>");
});

test("launchd ends a service that would fail again, gives it the processor, and joins none of its timers", () => {
  const service = { MILLRACE_STARTED_BY: "service" };
  expect([64, 73, 0, 70, 1].map((code) => launchdExitCode(code, service))).toEqual([0, 0, 0, 70, 1]);
  expect(launchdExitCode(64, {})).toBe(64); // typed by a person
  const plist = launchdPlist(spec);
  expect(plist).toContain("<key>ProcessType</key>\n  <string>Interactive</string>");
  expect(plist).toContain("<key>LegacyTimers</key>\n  <true/>");
});

test("launchd finds the folder of its log", async () => {
  const folder = join(temporaryFolder(), ".millrace");
  const all = managerOf("darwin")?.steps({ ...spec, folder, homeFolder: folder }).install ?? [];
  const beforeLoad = all.slice(
    0,
    all.findIndex((step) => step.kind === "run" && step.args.includes("bootstrap")),
  );
  const nothing = () => Promise.resolve({ ok: true as const, value: { stdout: "", exitCode: 1 } });
  await takeSteps(beforeLoad, nothing, new AbortController().signal);
  expect(existsSync(join(folder, "logs"))).toBe(true);
});

test("the Windows script starts a gateway again that crashed, and none that would fail again", () => {
  const lines = taskScript(spec).split("\r\n");
  expect(lines.slice(-6)).toEqual([
    ":start",
    '"/opt/node 24/bin/node" "/srv/100%% $HOME/bin.js" "serve"',
    "for %%c in (0 64 73) do if %errorlevel% equ %%c exit /b %%c",
    "ping -n 6 127.0.0.1 >nul",
    "goto start",
    "",
  ]);
});

test("the Windows task has no window, and its script any path", () => {
  const ran: unknown[] = [];
  const folder = "C:\\Users\\Ada & (Bob)\\.millrace";
  runInNewContext(taskLauncher({ ...spec, folder }).slice(1), {
    // what the Windows Script Host gives a script
    ActiveXObject: function ActiveXObject(name: string) {
      return { Run: (...args: readonly unknown[]) => ran.push(name, ...args) };
    },
    WScript: { Quit: (code: unknown) => ran.push(code) },
  });
  expect(ran).toEqual(["WScript.Shell", `cmd.exe /d /s /c ""${folder}\\service.cmd""`, 0, true, 4]);
});

test("the Windows task runs a script that sets the variables", () => {
  const windows = { ...spec, folder: "C:\\Users\\Ada & Bob\\.millrace" };
  expect(taskScript(spec)).toContain('set "PATH=/usr/bin"\r\n');
  expect(taskScript(spec)).toContain('"/srv/100%% $HOME/bin.js" "serve"\r\n');
  const xml = taskXml(windows);
  expect(xml.startsWith("\uFEFF<?xml")).toBe(true);
  expect(xml).toContain(
    "<Arguments>//B //Nologo &quot;C:\\Users\\Ada &amp; Bob\\.millrace\\service.js&quot;</Arguments>",
  );
  expect(taskScript(spec)).toContain('set MILLRACE_HOME=a ^"b^" ^& ^<c^>\r\n');
  expect(taskScript({ ...spec, env: { A: "100% & (x)" } })).toContain('set "A=100%% & (x)"\r\n');
  expect(xml).toContain("<ExecutionTimeLimit>PT0S</ExecutionTimeLimit>");
  expect(xml).not.toContain("<UserId>");
});

test("the Windows task names its user, at the logon and as the one it runs as", () => {
  const xml = taskXml({ ...spec, user: "PC\\Ada & Bob" });
  expect(xml).toContain("<Enabled>true</Enabled>\n      <UserId>PC\\Ada &amp; Bob</UserId>\n    </LogonTrigger>");
  expect(xml).toContain('<Principal id="Author">\n      <UserId>PC\\Ada &amp; Bob</UserId>');
});

test.each<[NodeJS.Platform, ServiceAction, readonly string[]]>([
  [
    "linux",
    "install",
    [
      "write /home/ada/.config/systemd/user/millrace.service",
      "systemctl --user daemon-reload",
      "systemctl --user enable millrace.service",
      "systemctl --user restart millrace.service",
    ],
  ],
  [
    "linux",
    "uninstall",
    [
      "systemctl --user disable --now millrace.service",
      "remove /home/ada/.config/systemd/user/millrace.service",
      "systemctl --user daemon-reload",
    ],
  ],
  [
    "darwin",
    "install",
    [
      "make the folder /home/ada/.millrace/logs",
      "write /home/ada/Library/LaunchAgents/dev.millrace.gateway.plist",
      "launchctl bootout gui/501/dev.millrace.gateway",
      "wait until it is gone: launchctl print gui/501/dev.millrace.gateway",
      "launchctl bootstrap gui/501 /home/ada/Library/LaunchAgents/dev.millrace.gateway.plist",
    ],
  ],
  ["darwin", "restart", ["launchctl kickstart -k gui/501/dev.millrace.gateway"]],
  ["win32", "restart", ["schtasks /Run /TN Millrace"]],
])("on %s, %s is %j", (platform, action, steps) => {
  expect(managerOf(platform)?.steps(spec)[action].map(spellStep)).toEqual(steps);
});

function spellStep(step: ServiceStep): string {
  if (step.kind === "write") return `write ${step.file}`;
  if (step.kind === "folder") return `make the folder ${step.folder}`;
  if (step.kind === "remove") return `remove ${step.file}`;
  return step.kind === "until" ? `wait until it is gone: ${spellCommand(step.step)}` : spellCommand(step);
}

test("an old service is waited for until its manager does not know it any more", async () => {
  const ran: string[] = [];
  const run = (program: string, args: readonly string[]) => {
    ran.push(args[0] ?? "");
    const isThere = program === "print" && ran.length < 4;
    return Promise.resolve({ ok: true as const, value: { stdout: "", exitCode: isThere ? 0 : 113 } });
  };
  const print = { kind: "run", program: "print", args: ["print"] } as const;
  const steps = [
    { kind: "until", step: print },
    { kind: "run", program: "on", args: ["on"], mayFail: true },
  ] as const;
  await takeSteps(steps, run, new AbortController().signal);
  expect(ran).toEqual(["print", "print", "print", "print", "on"]);
});

test("a step that fails ends the rest, says what the command said, and leaves no file and no folder of its own", async () => {
  const file = join(temporaryFolder(), "deep", "unit");
  const ran: string[] = [];
  const run = (program: string) => {
    ran.push(program);
    const failed = { stdout: "", exitCode: 5, stderr: "Failed to connect to bus: No medium found\n" };
    return Promise.resolve({ ok: true as const, value: program === "true" ? { stdout: "", exitCode: 0 } : failed });
  };
  const never = new AbortController().signal;
  const steps = [
    { kind: "write", file, text: "text" },
    { kind: "run", program: "absent", args: [], mayFail: true },
    { kind: "run", program: "false", args: ["--now"] },
    { kind: "run", program: "true", args: [] },
  ] as const;
  await expect(takeSteps(steps, run, never)).rejects.toThrow(
    "`false --now` failed: Failed to connect to bus: No medium found.",
  );
  expect(ran).toEqual(["absent", "false"]);
  expect(existsSync(dirname(file))).toBe(false);
  await expect(takeSteps(steps.slice(1), run, never)).rejects.toThrow("`false --now` failed");
});
