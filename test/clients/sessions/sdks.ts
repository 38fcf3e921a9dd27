import { join } from "node:path";
import type { Bench } from "../bench.ts";
import { callsForm } from "../cases/clis.ts";
import type { Message, SessionClient } from "./session.ts";

type Title = Pick<SessionClient, "name" | "packageName" | "surface">;

const noTool = "its program has no such tool";
const noCompaction = "it does not shorten its history";
const lacks: SessionClient["lacks"] = {
  file: noTool,
  PDF: noTool,
  "sub-agent": "it has none",
  compaction: noCompaction,
  "after it": noCompaction,
};

/** Our own program around an SDK (`drivers/<driver>.mjs`); `names` is what it calls the API, if it knows several. */
function say(driver: string, names = "", jsonPrompt?: string) {
  return (bench: Bench, { step, text, isJson, until }: Message) =>
    bench.driver(driver, "plain", names, (isJson && jsonPrompt) || text, {
      env: { STEP: step, HISTORY: join(bench.home, "history.json") },
      ...(until === undefined ? {} : { until }),
    });
}

function sdk(title: Title, driver: Parameters<typeof say>, more: Partial<SessionClient> = {}): SessionClient {
  const shell = (n: number) => `call bash ${JSON.stringify({ command: `echo millrace-${n}` })}`;
  return { ...title, say: say(...driver), calls: { shell }, lacks, ...more };
}

/** An answer of a schema is a call of a tool of its own, which the stand-in's model is told to make. */
const jsonCall = callsForm.replace("StructuredOutput", "json");

const aiSdk = { name: "Vercel AI SDK", packageName: "ai" } as const;
/** It refers to its answers by their ids, and those are kept for two hours. */
const byReference = { answers: { "next day": [] } };
const openAi = { name: "OpenAI SDK", packageName: "openai" } as const;

export const sdkSessions: readonly SessionClient[] = [
  sdk({ ...aiSdk, surface: "responses" }, ["ai-sdk-session", "openai"], byReference),
  sdk({ ...aiSdk, name: "Vercel AI SDK, generateText", surface: "responses" }, ["ai-sdk-session", "openai whole"], {
    ...byReference,
    rarely: true,
  }),
  sdk({ ...aiSdk, name: "Vercel AI SDK, openai.chat", surface: "chat completions" }, ["ai-sdk-session", "chat"], {
    rarely: true,
  }),
  sdk(
    { ...aiSdk, name: "Vercel AI SDK, compatible", surface: "chat completions" },
    ["ai-sdk-session", "compatible whole"],
    {
      rarely: true,
    },
  ),
  ...["5", "6"].flatMap((major) => {
    const title = { name: `Vercel AI SDK ${major}`, packageName: `ai-${major}` };
    return [
      sdk({ ...title, surface: "responses" }, ["ai-sdk-session", `openai stream ${major}`], {
        ...byReference,
        rarely: true,
      }),
      sdk(
        { ...title, surface: "messages" },
        ["ai-sdk-session", `anthropic whole ${major}`, major === "5" ? jsonCall : undefined],
        { rarely: true },
      ),
    ];
  }),
  sdk({ ...aiSdk, surface: "messages" }, ["ai-sdk-session", "anthropic"], { rarely: true }),
  sdk({ ...openAi, surface: "chat completions" }, ["openai-session", "chat"]),
  sdk({ ...openAi, surface: "responses" }, ["openai-session", "whole"], { rarely: true }),
  sdk({ ...openAi, name: "OpenAI SDK, previous_response_id", surface: "responses" }, ["openai-session", "by id"], {
    rarely: true,
    lacks: { ...lacks, "full context": "its session has ended on the day before" },
    known: { "next day": "a response can be continued for two hours (`--retention`)" },
  }),
  sdk({ name: "Anthropic SDK", packageName: "@anthropic-ai/sdk", surface: "messages" }, ["anthropic-session"]),
  sdk({ name: "Ollama client", packageName: "ollama", surface: "ollama" }, ["ollama-session"], { rarely: true }),
  sdk(
    { name: "Claude Agent SDK", packageName: "@anthropic-ai/claude-agent-sdk", surface: "messages" },
    ["claude-agent", "", callsForm],
    {
      rarely: true,
      calls: {
        shell: (n) => `call Bash ${JSON.stringify({ command: `echo millrace-${n}`, description: "Says it" })}`,
        read: (file) => `call Read ${JSON.stringify({ file_path: file })}`,
        agent: (task) =>
          `call Agent ${JSON.stringify({ description: "Says it", prompt: task, subagent_type: "general-purpose" })}`,
      },
      lacks: { "full context": "it compacts its history" },
      more: { "sub-agent": 1 },
      answers: { "sub-agent": [] },
      compact: (bench, message) => say("claude-agent")(bench, { ...message, text: "/compact" }),
    },
  ),
];
