import type { Bench } from "../bench.ts";

/** The steps of a session, in their order. */
export const stepNames = [
  "first turn",
  "second turn",
  "tools",
  "file",
  "picture",
  "PDF",
  "sub-agent",
  "JSON",
  "abort",
  "go on",
  "gateway killed",
  "next day",
  "full context",
  "compaction",
  "after it",
] as const;
export type StepName = (typeof stepNames)[number];

/** Lines of the stand-in's script that call tools of a client. */
export interface ClientCalls {
  /** Runs `echo millrace-N`. */
  readonly shell: (n: number) => string;
  readonly read?: ((file: string) => string) | undefined;
  /** Its tool reads no pictures: they are added to a message. */
  readonly readsTexts?: true;
  /** Hands a task to a sub-agent; several lines if the client needs several answers, apart by `---`. */
  readonly agent?: (task: string) => string;
}

export interface Step {
  readonly name: StepName;
  /**
   * `say`: a message, and its answer. `stop`: stopped while the answer comes. `kill`: the gateway dies while the answer comes. `compact`: the
   * client's own way to shorten its history. `overflow`: the model says that the context is full.
   */
  readonly does: "say" | "stop" | "kill" | "compact" | "overflow";
  readonly prompt: (calls: ClientCalls, bench: Bench) => string | undefined;
  /** What the user reads in the end. */
  readonly answer: readonly string[];
  /** What reaches the model over Cascade. */
  readonly prompts: number;
  /** The client adds a picture to its message, where it can. */
  readonly withPicture?: true;
  /** The answer has to fit `tripSchema`. */
  readonly isJson?: true;
  /** The gateway was stopped in good order and started on the next day. */
  readonly onNextDay?: true;
}

/** An answer whose words stand in no prompt. */
const hidden = (text: string, more = "") =>
  `[[sim: reset ${more} hidden-text=${Buffer.from(text).toString("base64")}]] Say it.`;
const script = (lines: string) =>
  `[[sim: reset]] [[agent\n${lines}\n---\nsay The tools said: {results}\n]] Look around.`;
const pieces = Array.from({ length: 200 }, (_, at) => `piece-${String(at).padStart(3, "0")}`);
/** A message that fills a context of `filledTokens`, beside an answer of the bench's model: the client then compacts its history by itself. */
export const filledTokens = 100_000;
export const filling = `\n${"Water turns the wheel of the mill. ".repeat(10_000)}`;
/** Every word of the conversation that begins so, as the model read it. */
const recall = "[[sim: reset]]\nrecall: word-";

export const steps: readonly Step[] = [
  { name: "first turn", does: "say", prompt: () => hidden("word-one"), answer: ["word-one"], prompts: 1 },
  { name: "second turn", does: "say", prompt: () => recall, answer: ["word-one"], prompts: 1 },
  {
    name: "tools",
    does: "say",
    prompt: ({ shell }) => script(`${shell(1)}\n${shell(2)}\n---\n${shell(3)}`),
    answer: ["The tools said", "millrace-1", "millrace-2", "millrace-3"],
    prompts: 3,
  },
  {
    name: "file",
    does: "say",
    prompt: ({ read }, { work }) => read && script(read(`${work}/notes.txt`)),
    answer: ["note-4711"],
    prompts: 2,
  },
  {
    name: "picture",
    does: "say",
    prompt: ({ read }, { work }) =>
      read === undefined ? "[[sim: reset]] What is in this picture?" : script(read(`${work}/picture.png`)),
    answer: [],
    prompts: 1,
    withPicture: true,
  },
  {
    name: "PDF",
    does: "say",
    prompt: ({ read }, { work }) => read && script(read(`${work}/paper.pdf`)),
    answer: ["The tools said"],
    prompts: 2,
  },
  {
    name: "sub-agent",
    does: "say",
    prompt: ({ agent }) => agent && script(agent("echo: word-sub")),
    answer: ["word-sub"],
    prompts: 3,
  },
  {
    name: "JSON",
    does: "say",
    prompt: () => "[[sim: reset]] Which city, and how many days?",
    answer: ["city", "days"],
    prompts: 1,
    isJson: true,
  },
  {
    name: "abort",
    does: "stop",
    prompt: () => "[[sim: reset size=60000 rate=300]] Tell me everything.",
    answer: [],
    prompts: 1,
  },
  { name: "go on", does: "say", prompt: () => recall, answer: ["word-one"], prompts: 1 },
  {
    name: "gateway killed",
    does: "kill",
    prompt: () => hidden(pieces.join(" "), "hold-after=900"),
    answer: [pieces.join(" ")],
    prompts: 1,
  },
  { name: "next day", does: "say", prompt: () => recall, answer: ["word-one"], prompts: 1, onNextDay: true },
  {
    name: "full context",
    does: "overflow",
    prompt: () => "[[sim: reset error=too_long]] Too much.",
    answer: [],
    prompts: 1,
  },
  { name: "compaction", does: "compact", prompt: () => hidden("word-summary"), answer: [], prompts: 1 },
  { name: "after it", does: "say", prompt: () => hidden("word-last"), answer: ["word-last"], prompts: 1 },
];
