import { win32 } from "node:path";
import { exitCodes, finalCodes } from "../terminal/exit-codes.ts";
import { command, ifThere, type ServiceManager, type ServiceSpec, xml } from "./service-plan.ts";

const task = "Millrace";
const schtasks = command("schtasks");

/** A task that starts at logon. Source: schtasks and the Task Scheduler schema (learn.microsoft.com). */
export const taskScheduler: ServiceManager = {
  title: "Task Scheduler",
  definition: scriptOf,
  steps(spec) {
    const [script, launcher, file] = [scriptOf(spec), launcherOf(spec), win32.join(spec.folder, "service.xml")];
    const [end, run] = [ifThere(schtasks("/End", "/TN", task)), schtasks("/Run", "/TN", task)];
    return {
      install: [
        { kind: "write", file: script, text: taskScript(spec) },
        { kind: "write", file: launcher, text: taskLauncher(spec), encoding: "utf16le" },
        { kind: "write", file, text: taskXml(spec), encoding: "utf16le" },
        schtasks("/Create", "/TN", task, "/XML", file, "/F"),
        run,
      ],
      uninstall: [
        end,
        schtasks("/Delete", "/TN", task, "/F"),
        { kind: "remove", file },
        { kind: "remove", file: launcher },
        { kind: "remove", file: script },
      ],
      restart: [run], // the gateway has ended by itself: `/End` would end the agents' hosts too
    };
  },
  note: "It starts when you log in.",
};

function scriptOf({ folder }: ServiceSpec): string {
  return win32.join(folder, "service.cmd");
}

function launcherOf({ folder }: ServiceSpec): string {
  return win32.join(folder, "service.js");
}

/** Runs the script without a window, whose closing would end the gateway. Source: Windows Script Host, `WshShell.Run`. */
export function taskLauncher(spec: ServiceSpec): string {
  const line = `cmd.exe /d /s /c ""${scriptOf(spec)}""`; // `/s` keeps the inner quotes around `&` or parentheses
  return `\uFEFFWScript.Quit(new ActiveXObject("WScript.Shell").Run(${JSON.stringify(line)}, 0, true));\r\n`;
}

/**
 * The script that the task runs, because a task cannot set variables. It starts the gateway again 5 s after a crash: the Task Scheduler
 * does so for a task that did not start, not for one that ended.
 */
export function taskScript({ program, args, env }: ServiceSpec): string {
  const escaped = (text: string) => text.replaceAll("%", "%%");
  return [
    "@echo off",
    "chcp 65001 >nul",
    ...Object.entries(env).map(([name, value]) => setting(name, escaped(value))),
    ":start",
    [program, ...args].map((word) => `"${escaped(word)}"`).join(" "),
    `for %%c in (${[exitCodes.ok, ...finalCodes].join(" ")}) do if %errorlevel% equ %%c exit /b %%c`,
    "ping -n 6 127.0.0.1 >nul",
    "goto start",
    "",
  ].join("\r\n");
}

/** Between quotes, unless the value has quotes itself: those would end them, and `&` would begin another command. */
function setting(name: string, value: string): string {
  if (!value.includes('"')) return `set "${name}=${value}"`;
  return `set ${name}=${value.replaceAll(/[\^&<>|()"]/g, "^$&")}`;
}

/**
 * The task: no time limit, also on battery. It names the user: only an administrator may make a task that starts when anybody logs on. A
 * second instance may start while the first one ends; the home is one gateway's, so it waits for that end, or ends itself.
 */
export function taskXml(spec: ServiceSpec): string {
  const user = spec.user === undefined ? "" : `\n      <UserId>${xml(spec.user)}</UserId>`;
  return `\uFEFF<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>Millrace, a gateway to the models of your IDE</Description>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>${user}
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">${user}
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>Parallel</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>3</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>wscript.exe</Command>
      <Arguments>//B //Nologo &quot;${xml(launcherOf(spec))}&quot;</Arguments>
    </Exec>
  </Actions>
</Task>
`;
}
