import { expect, test } from "vitest";
import { fingerprintOf, questionIn } from "../answers/question.ts";
import { fakeGateway } from "../gateway.fake.ts";
import { answer } from "../routes/turn-route.fake.ts";
import { pdfOf } from "./pdf.fake.ts";
import { openPdfReader } from "./pdf-reader.ts";

const anthropic = (data: string) => ({
  type: "document",
  title: "report.pdf",
  source: { type: "base64", media_type: "application/pdf", data },
});
const members = (data: string) => ({ filename: "report.pdf", file_data: `data:application/pdf;base64,${data}` });
const chat = (data: string) => ({ type: "file", file: members(data) });
const responses = (data: string) => ({ type: "input_file", ...members(data) });
const ask = { type: "text", text: "Sum it up." };
const model = "test-model";

const ways = [
  {
    api: "openai-chat",
    path: "/v1/chat/completions",
    asked: (data: string) => ({ model, messages: [{ role: "user", content: [chat(data), ask] }] }),
  },
  {
    api: "openai-chat",
    path: "/v1/chat/completions",
    asked: (data: string) => ({
      model,
      messages: [
        { role: "user", content: "Read it." },
        { role: "assistant", tool_calls: [{ id: "c", type: "function", function: { name: "read", arguments: "{}" } }] },
        { role: "tool", tool_call_id: "c", content: [chat(data)] },
      ],
    }),
  },
  {
    api: "openai-responses",
    path: "/v1/responses",
    asked: (data: string) => ({ model, input: [{ role: "user", content: [responses(data)] }] }),
  },
  {
    api: "openai-responses",
    path: "/v1/responses",
    asked: (data: string) => ({
      model,
      input: [
        { type: "function_call", call_id: "c", name: "read", arguments: "{}" },
        { type: "function_call_output", call_id: "c", output: [responses(data)] },
      ],
    }),
  },
  {
    api: "anthropic-messages",
    path: "/v1/messages",
    asked: (data: string) => ({ model, max_tokens: 9, messages: [{ role: "user", content: [anthropic(data), ask] }] }),
  },
  {
    api: "anthropic-messages",
    path: "/v1/messages",
    asked: (data: string) => ({
      model,
      max_tokens: 9,
      messages: [
        { role: "user", content: "Read it." },
        { role: "assistant", content: [{ type: "tool_use", id: "c", name: "read", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: [anthropic(data)] }] },
      ],
    }),
  },
];

function answering() {
  const fake = fakeGateway();
  fake.turns.script = () => answer;
  return fake;
}

test.each(ways)("a PDF reaches the model as text by pages, in the turn of the body as sent: $path", async (way) => {
  const fake = answering();
  const json = way.asked(pdfOf("Sales rose.", "", "Costs fell."));
  const { headers } = await fake.request(way.path, { json });
  const [turn] = fake.turns.started;
  expect(JSON.stringify(turn?.request.messages)).toContain(
    JSON.stringify(
      "report.pdf: the text of a PDF of 3 pages\n\n[page 1]\nSales rose.\n\n[page 2]\n[no text]\n\n[page 3]\nCosts fell.",
    ).slice(1, -1),
  );
  expect(headers.get("x-millrace-left-out")).toBeNull();
  expect(turn?.fingerprint).toBe(await fingerprintOf(way.api, questionIn(json).question));
});

test.each(ways.filter((_, i) => i % 2 === 0))(
  "a PDF that cannot be read is told to the model, and named: $path",
  async ({ path, asked }) => {
    for (const [data, told] of [
      [pdfOf("", ""), "report.pdf: a PDF of 2 pages without text, such as scans"],
      [
        Buffer.from("%PDF-1.4\nnothing").toString("base64"),
        "report.pdf: a PDF that this gateway cannot read: it is damaged",
      ],
    ] as const) {
      const fake = answering();
      const { status, headers } = await fake.request(path, { json: asked(data) });
      expect([status, headers.get("x-millrace-left-out")]).toEqual([
        200,
        expect.stringMatching(/^(document|file|input_file)$/),
      ]);
      expect(JSON.stringify(fake.turns.started[0]?.request.messages)).toContain(told);
    }
  },
);

test("the size of a request is counted with the text of its PDF", async () => {
  const words = "many ".repeat(2_000);
  const count = async (path: string, json: object) => (await fakeGateway().request(path, { json })).json();
  for (const [path, asked] of [
    ["/v1/messages/count_tokens", ways[4]?.asked],
    ["/v1/responses/input_tokens", ways[2]?.asked],
  ] as const)
    expect(await count(path, asked?.(pdfOf(words)) ?? {})).toMatchObject({
      input_tokens: expect.toSatisfy((tokens: number) => tokens > 1_500),
    });
});

test("a hundred pages are read, and the model is told of the others", async () => {
  const { pages, total, why } = await openPdfReader()(pdfOf(...Array.from({ length: 101 }, (_, i) => `p${i + 1}`)));
  expect([pages.length, pages.at(-1), total, why]).toEqual([100, "p100", 101, "only 100 pages are read"]);
});

test("a PDF that comes again is not read again, and several are read one after another", async () => {
  const read = openPdfReader();
  const [one, two] = [pdfOf("one"), pdfOf("two")];
  const first = read(one);
  const second = read(two);
  expect(read(one)).toBe(first);
  expect(await Promise.all([first, second])).toMatchObject([{ pages: ["one"] }, { pages: ["two"] }]);
});
