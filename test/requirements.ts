/** One behaviour that clients depend on. */
export interface Requirement {
  readonly id: string;
  readonly sentence: string;
  /** A row of facts/client-contract.md, part 1. */
  readonly row: number;
  /** Why no test of ours cites it; absent for all that can be tested here. */
  readonly untested?: string;
}

/** What a gateway must do on the wire, as data: tests cite ids with `proves`, and a gate fails for an id that no test cites. */
export const requirements = [
  { id: "chat.role-once", row: 1, sentence: "The first delta carries the assistant role; it never comes again." },
  {
    id: "chat.same-head",
    row: 2,
    sentence: "Every chunk has the same id, created, model and object, and choices with an index.",
  },
  { id: "chat.tool-finish", row: 3, sentence: "A turn with calls ends in tool_calls, a turn without never does." },
  { id: "chat.one-finish", row: 4, sentence: "Exactly one chunk has a finish reason, with an empty delta." },
  { id: "chat.done-last", row: 5, sentence: "[DONE] comes last, then the body closes." },
  {
    id: "chat.usage-asked",
    row: 6,
    sentence: "Usage comes only when asked, after the finish, with empty choices; other chunks carry null.",
  },
  { id: "chat.call-index", row: 7, sentence: "Every tool call delta has a number as index." },
  {
    id: "chat.call-identity",
    row: 8,
    sentence: "The first delta of a call has id, type and name; later ones no other id.",
  },
  {
    id: "chat.parallel-calls",
    row: 9,
    sentence: "Parallel calls have their own indexes, and their deltas never cross.",
  },
  { id: "chat.empty-arguments", row: 10, sentence: 'Arguments are a JSON string; without parameters "{}".' },
  { id: "chat.null-content", row: 11, sentence: "A message with calls may have null content, in both directions." },
  { id: "chat.content-parts", row: 12, sentence: "Content may be parts on any role." },
  { id: "chat.developer", row: 13, sentence: "Developer messages are system messages." },
  {
    id: "chat.any-order",
    row: 14,
    sentence: "System messages anywhere, and the same role twice in a row, are accepted.",
  },
  { id: "chat.tool-results", row: 15, sentence: "Several tool results stay together and paired by id." },
  { id: "chat.token-limits", row: 16, sentence: "Both names of the token limit are honoured." },
  { id: "chat.whole-equals-stream", row: 17, sentence: "The answer that is not streamed holds what the stream does." },
  { id: "chat.reasoning", row: 18, sentence: "Thinking is reasoning_content, never content." },
  { id: "chat.errors", row: 19, sentence: "Errors are JSON with message, type, param and code, and the right status." },
  { id: "chat.stream-error", row: 20, sentence: "A failure in a stream is an error member; no finish reason follows." },
  { id: "chat.unknown-model", row: 21, sentence: "An unknown model is 404 model_not_found, never a default." },
  { id: "chat.refused-by-name", row: 22, sentence: "n, logprobs and top_logprobs are refused with their name." },
  { id: "chat.hints-ignored", row: 23, sentence: "Hints and unknown members are ignored." },
  { id: "chat.tool-choice", row: 24, sentence: "Every tool choice is understood, also without tools." },
  { id: "chat.stop", row: 25, sentence: "stop takes a text or up to four, is enforced across deltas and is not sent." },
  {
    id: "chat.response-format",
    row: 26,
    sentence: "A response format is kept, and its answer is valid JSON or an error.",
  },
  { id: "messages.order", row: 27, sentence: "event equals data.type, and events come in the API's order." },
  { id: "messages.blocks", row: 28, sentence: "Block indexes rise by one, one block is open at a time." },
  { id: "messages.start", row: 29, sentence: "message_start has empty content, no stop reason and real input tokens." },
  {
    id: "messages.final-usage",
    row: 30,
    sentence: "message_delta has cumulative output tokens and real input tokens.",
  },
  {
    id: "messages.ping",
    row: 31,
    sentence: "A no-op event within 15 s of silence, only while the upstream is known alive.",
  },
  {
    id: "messages.stop-reason",
    row: 32,
    sentence: "tool_use, end_turn, max_tokens, stop_sequence with its value, refusal.",
  },
  { id: "messages.tool-input", row: 33, sentence: "tool_use starts with {}, its fragments make one object." },
  {
    id: "messages.no-forged-signature",
    row: 34,
    sentence: "No signature is made up; unsigned thinking is dropped on replay, signed kept.",
  },
  { id: "messages.system", row: 35, sentence: "system is text or blocks; the billing line is not part of the prompt." },
  {
    id: "messages.stream-error",
    row: 36,
    sentence: "A failure in a stream is an error event; no message_stop follows.",
  },
  { id: "messages.errors", row: 37, sentence: "Error bodies have type, error and request_id, with the API's types." },
  { id: "messages.count-tokens", row: 38, sentence: "count_tokens counts what generation counts, with any query." },
  {
    id: "messages.tool-results",
    row: 39,
    sentence: "Tool results as text or blocks, several in one message, come before its text.",
  },
  {
    id: "messages.betas",
    row: 40,
    sentence: "Cache control, betas, unknown blocks and adaptive thinking are accepted.",
  },
  {
    id: "messages.model-ids",
    row: 41,
    sentence: "Suffixed model ids resolve; the quota message is answered without a prompt.",
  },
  { id: "messages.auth", row: 42, sentence: "The key is taken from x-api-key or as a bearer token." },
  { id: "messages.request-id", row: 43, sentence: "request-id is set, and the model is echoed as it was asked for." },
  {
    id: "responses.terminal",
    row: 44,
    sentence: "A stream always ends in completed, failed or incomplete; sequence numbers rise.",
  },
  { id: "responses.ladder", row: 45, sentence: "Every item has its full ladder of events." },
  { id: "responses.output-index", row: 46, sentence: "Every item has an output_index of its own." },
  {
    id: "responses.call-ids",
    row: 47,
    sentence: "A function call's id is not its call_id; arguments have delta and done.",
  },
  { id: "responses.custom-tools", row: 48, sentence: "Custom tools go in and out as raw text." },
  {
    id: "responses.previous",
    row: 49,
    sentence: "A tool's output alone continues a stored response; an unknown one is 404.",
  },
  {
    id: "responses.codex-defaults",
    row: 50,
    sentence:
      "store, include and instructions are tolerated; hosted tools refused by name, or left out by name beside own ones.",
  },
  { id: "responses.done", row: 51, sentence: "[DONE] follows the terminal event." },
  {
    id: "responses.aliases",
    row: 52,
    sentence: "/responses and /v1/response work; client_version on models does no harm.",
  },
  {
    id: "http.aliases",
    row: 53,
    sentence: "Root aliases, a doubled /v1, a slash at the end and queries are tolerated.",
  },
  {
    id: "http.open-routes",
    row: 54,
    sentence: "HEAD /, /api/hello and /health answer without a key, and quietly in the log.",
  },
  { id: "http.preflight", row: 55, sentence: "OPTIONS answers allowed origins with the headers they ask for." },
  { id: "http.sse", row: 56, sentence: "Streams are never cached, compressed, buffered or delayed." },
  {
    id: "http.retry-after",
    row: 57,
    sentence: "retry-after is whole seconds up to 60; an exhausted quota says not to retry, and when it resets.",
  },
  { id: "http.permanent-4xx", row: 58, sentence: "What gets no better by repeating is no 5xx, or says not to repeat." },
  { id: "http.request-id", row: 59, sentence: "Every response has x-request-id, the same as in body and log." },
  { id: "http.models", row: 60, sentence: "Models are sorted, unique, with stable dates, and found by escaped ids." },
  { id: "http.anthropic-models", row: 61, sentence: "Claude Code gets the list in its shape, with ids that it shows." },
  {
    id: "http.body-size",
    row: 62,
    sentence: "Bodies of 32 MB are taken; 413 comes in the caller's shape; charset is fine.",
  },
  { id: "http.early-abort", row: 63, sentence: "A client that leaves before the first byte is noticed." },
  { id: "http.unsupported", row: 64, sentence: "Unsupported routes answer JSON that names what there is." },
  {
    id: "models.neutral-names",
    row: 65,
    sentence:
      "Cursor hides names with claude: such models have names without it. That it cannot reach loopback is documented.",
  },
] as const satisfies readonly Requirement[];

export type RequirementId = (typeof requirements)[number]["id"];
