import { clineRun, continueRun } from "../cases/editors.ts";
import { call } from "./agents.ts";
import type { SessionClient } from "./session.ts";

const noJson = "it has no structured output";
const byWindow = { compaction: "by a command of its window", "after it": "by a command of its window" };
const resumesInWindow = "it resumes a session in its window alone";
const shortens = "it shortens its history";

export const editorSessions: readonly SessionClient[] = [
  {
    name: "Continue",
    packageName: "@continuedev/cli",
    surface: "chat completions",
    say: (bench, { text, isFirst, until }) => continueRun(text, isFirst ? [] : ["--resume"])(bench, until),
    calls: {
      shell: (n) => call("Bash", { command: `echo millrace-${n}` }),
      read: (file) => call("Read", { filepath: file }),
    },
    lacks: {
      picture: "takes pictures in its window only",
      PDF: "not driven",
      "sub-agent": "not driven",
      JSON: noJson,
      "full context": shortens,
      ...byWindow,
    },
    rarely: true,
  },
  {
    name: "Cline",
    packageName: "cline",
    surface: "chat completions",
    say: (bench, { text, picture, until }) =>
      clineRun(() => (picture === undefined ? text : `${text} @${picture}`))(bench, until), // each message begins a session
    calls: {
      shell: (n) => call("run_commands", { commands: [`echo millrace-${n}`] }),
      read: (file) => call("read_files", { files: [{ path: file }] }),
      readsTexts: true,
      agent: (task) => call("spawn_agent", { systemPrompt: "Answer.", task }),
    },
    lacks: {
      "second turn": resumesInWindow,
      "go on": resumesInWindow,
      "next day": resumesInWindow,
      PDF: "its tool reads texts",
      JSON: noJson,
      "full context": shortens,
      ...byWindow,
    },
    rarely: true,
  },
];
