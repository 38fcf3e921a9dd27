import { win32 } from "node:path";
import { command, ifThere, type ServiceManager, type ServiceSpec, xml } from "./service-plan.ts";

const task = "Millrace";
const schtasks = command("schtasks");

/** A task that starts at logon. Source: schtasks and the Task Scheduler schema (learn.microsoft.com). */
export const taskScheduler: ServiceManager = {
  title: "Task Scheduler",
  definition: scriptOf,
  steps(spec) {
    const [script, file] = [scriptOf(spec), win32.join(spec.folder, "service.xml")];
    const [end, run] = [ifThere(schtasks("/End", "/TN", task)), schtasks("/Run", "/TN", task)];
    return {
      install: [
        { kind: "write", file: script, text: taskScript(spec) },
        { kind: "write", file, text: taskXml(spec), encoding: "utf16le" },
        schtasks("/Create", "/TN", task, "/XML", file, "/F"),
        run,
      ],
      uninstall: [
        end,
        schtasks("/Delete", "/TN", task, "/F"),
        { kind: "remove", file },
        { kind: "remove", file: script },
      ],
      restart: [end, run],
      status: [schtasks("/Query", "/TN", task, "/FO", "CSV", "/NH")],
    };
  },
  isRunning: ({ exitCode }) => exitCode === 0, // the state's word depends on the language: the gateway's answer decides
  note: "It starts when you log in. Windows shows a console window for it.",
};

function scriptOf({ folder }: ServiceSpec): string {
  return win32.join(folder, "service.cmd");
}

/** The script that the task runs, because a task cannot set variables. */
export function taskScript({ program, args, env }: ServiceSpec): string {
  const escaped = (text: string) => text.replaceAll("%", "%%");
  return [
    "@echo off",
    "chcp 65001 >nul",
    ...Object.entries(env).map(([name, value]) => setting(name, escaped(value))),
    [program, ...args].map((word) => `"${escaped(word)}"`).join(" "),
    "",
  ].join("\r\n");
}

/** Between quotes, unless the value has quotes itself: those would end them, and `&` would begin another command. */
function setting(name: string, value: string): string {
  if (!value.includes('"')) return `set "${name}=${value}"`;
  return `set ${name}=${value.replaceAll(/[\^&<>|()"]/g, "^$&")}`;
}

/**
 * The task: one instance, no time limit, also on battery; three new starts after a failure. It names the user: only an administrator may
 * make a task that starts when anybody logs on. `/s` keeps the inner quotes around a path with `&` or parentheses, which `/c` alone drops.
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
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
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
      <Command>cmd.exe</Command>
      <Arguments>/d /s /c &quot;&quot;${xml(scriptOf(spec))}&quot;&quot;</Arguments>
    </Exec>
  </Actions>
</Task>
`;
}
