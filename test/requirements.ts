/** One behaviour that clients depend on. */
export interface Requirement {
  readonly id: string;
  readonly sentence: string;
  /** Why no test of ours cites it; absent for all that can be tested here. */
  readonly untested?: string;
}

/**
 * What a gateway must do on the wire, as data: tests cite ids with `proves`, and a check fails for an id that no test cites. Why
 * each one matters is in docs/dev/wire/clients.md.
 */
export const requirements = [
  { id: "chat.role-once", sentence: "The first delta carries the assistant role; it never comes again." },
  {
    id: "chat.same-head",
    sentence: "Every chunk has the same id, created, model and object, and choices with an index.",
  },
  { id: "chat.tool-finish", sentence: "A turn with calls ends in tool_calls, a turn without never does." },
  { id: "chat.one-finish", sentence: "Exactly one chunk has a finish reason, with an empty delta." },
  { id: "chat.done-last", sentence: "[DONE] comes last, then the body closes." },
  {
    id: "chat.usage-asked",
    sentence: "Usage comes only when asked, after the finish, with empty choices; other chunks carry null.",
  },
  { id: "chat.call-index", sentence: "Every tool call delta has a number as index." },
  {
    id: "chat.call-identity",
    sentence: "The first delta of a call has id, type and name; later ones no other id.",
  },
  {
    id: "chat.parallel-calls",
    sentence: "Parallel calls have their own indexes, and their deltas never cross.",
  },
  { id: "chat.empty-arguments", sentence: 'Arguments are a JSON string; without parameters "{}".' },
  { id: "chat.null-content", sentence: "A message with calls may have null content, in both directions." },
  { id: "chat.content-parts", sentence: "Content may be parts on any role." },
  { id: "chat.developer", sentence: "Developer messages are system messages." },
  {
    id: "chat.any-order",
    sentence: "System messages anywhere, and the same role twice in a row, are accepted.",
  },
  { id: "chat.tool-results", sentence: "Several tool results stay together and paired by id." },
  { id: "chat.token-limits", sentence: "Both names of the token limit are honoured." },
  { id: "chat.whole-equals-stream", sentence: "The answer that is not streamed holds what the stream does." },
  { id: "chat.reasoning", sentence: "Thinking is reasoning_content, never content." },
  { id: "chat.errors", sentence: "Errors are JSON with message, type, param and code, and the right status." },
  { id: "chat.stream-error", sentence: "A failure in a stream is an error member; no finish reason follows." },
  { id: "chat.unknown-model", sentence: "An unknown model is 404 model_not_found, never a default." },
  { id: "chat.refused-by-name", sentence: "n, logprobs and top_logprobs are refused with their name." },
  { id: "chat.hints-ignored", sentence: "Hints and unknown members are ignored." },
  { id: "chat.tool-choice", sentence: "Every tool choice is understood, also without tools." },
  { id: "chat.stop", sentence: "stop takes a text or up to four, is enforced across deltas and is not sent." },
  {
    id: "chat.response-format",
    sentence: "A response format is kept, and its answer is valid JSON or an error.",
  },
  { id: "messages.order", sentence: "event equals data.type, and events come in the API's order." },
  { id: "messages.blocks", sentence: "Block indexes rise by one, one block is open at a time." },
  { id: "messages.start", sentence: "message_start has empty content, no stop reason and real input tokens." },
  {
    id: "messages.final-usage",
    sentence: "message_delta has cumulative output tokens and real input tokens.",
  },
  {
    id: "messages.ping",
    sentence: "A no-op event within 15 s of silence, only while the upstream is known alive.",
  },
  {
    id: "messages.stop-reason",
    sentence: "tool_use, end_turn, max_tokens, stop_sequence with its value, refusal.",
  },
  { id: "messages.tool-input", sentence: "tool_use starts with {}, its fragments make one object." },
  {
    id: "messages.no-forged-signature",
    sentence: "No signature is made up; unsigned thinking is dropped on replay, signed kept.",
  },
  { id: "messages.system", sentence: "system is text or blocks; the billing line is not part of the prompt." },
  {
    id: "messages.stream-error",
    sentence: "A failure in a stream is an error event; no message_stop follows.",
  },
  { id: "messages.errors", sentence: "Error bodies have type, error and request_id, with the API's types." },
  { id: "messages.count-tokens", sentence: "count_tokens counts what generation counts, with any query." },
  {
    id: "messages.tool-results",
    sentence: "Tool results as text or blocks, several in one message, come before its text.",
  },
  {
    id: "messages.betas",
    sentence: "Cache control, betas, unknown blocks and adaptive thinking are accepted.",
  },
  {
    id: "messages.model-ids",
    sentence: "Suffixed model ids resolve; the quota message is answered without a prompt.",
  },
  { id: "messages.auth", sentence: "The key is taken from x-api-key or as a bearer token." },
  { id: "messages.request-id", sentence: "request-id is set, and the model is echoed as it was asked for." },
  {
    id: "responses.terminal",
    sentence: "A stream always ends in completed, failed or incomplete; sequence numbers rise.",
  },
  { id: "responses.ladder", sentence: "Every item has its full ladder of events." },
  { id: "responses.output-index", sentence: "Every item has an output_index of its own." },
  {
    id: "responses.call-ids",
    sentence: "A function call's id is not its call_id; arguments have delta and done.",
  },
  { id: "responses.custom-tools", sentence: "Custom tools go in and out as raw text." },
  {
    id: "responses.previous",
    sentence: "A tool's output alone continues a stored response; an unknown one is 404.",
  },
  {
    id: "responses.codex-defaults",
    sentence:
      "store, include and instructions are tolerated; hosted tools refused by name, or left out by name beside own ones.",
  },
  { id: "responses.done", sentence: "[DONE] follows the terminal event." },
  {
    id: "responses.aliases",
    sentence: "/responses and /v1/response work; client_version on models does no harm.",
  },
  {
    id: "http.aliases",
    sentence: "Root aliases, a doubled /v1, a slash at the end and queries are tolerated.",
  },
  {
    id: "http.open-routes",
    sentence: "HEAD /, /api/hello and /health answer without a key, and quietly in the log.",
  },
  { id: "http.preflight", sentence: "OPTIONS answers allowed origins with the headers they ask for." },
  { id: "http.sse", sentence: "Streams are never cached, compressed, buffered or delayed." },
  {
    id: "http.retry-after",
    sentence: "retry-after is whole seconds up to 60; an exhausted quota says not to retry, and when it resets.",
  },
  { id: "http.permanent-4xx", sentence: "What gets no better by repeating is no 5xx, or says not to repeat." },
  { id: "http.request-id", sentence: "Every response has x-request-id, the same as in body and log." },
  { id: "http.models", sentence: "Models are in one order, unique, with stable dates, and found by escaped ids." },
  { id: "http.anthropic-models", sentence: "Claude Code gets the list in its shape, with ids that it shows." },
  {
    id: "http.body-size",
    sentence: "Bodies of 32 MB are taken if images make them large; 413 comes in the caller's shape; charset is fine.",
  },
  { id: "http.early-abort", sentence: "A client that leaves before the first byte is noticed." },
  { id: "http.unsupported", sentence: "Unsupported routes answer JSON that names what there is." },
  {
    id: "models.neutral-names",
    sentence:
      "Cursor hides names with claude: such models have names without it. That it cannot reach loopback is documented.",
  },
] as const satisfies readonly Requirement[];

export type RequirementId = (typeof requirements)[number]["id"];
