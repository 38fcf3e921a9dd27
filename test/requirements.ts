/** One behaviour that clients depend on. */
export interface Requirement {
  readonly id: string;
  readonly sentence: string;
  /** Which client breaks without it, and how. Where it names none, the behaviour is only documented by the API. */
  readonly why: string;
  /** Why no test of ours cites it; absent for all that can be tested here. */
  readonly untested?: string;
}

/**
 * What a gateway must do on the wire, as data: tests cite ids with `proves`, and a check fails for an id that no test cites.
 * docs/dev/wire/clients.md has what else clients do.
 */
export const requirements = [
  {
    id: "chat.role-once",
    sentence: "The first delta carries the assistant role; it never comes again.",
    why: "the AI SDK's parser",
  },
  {
    id: "chat.same-head",
    sentence: "Every chunk has the same id, created, model and object, and choices with an index.",
    why: "openai-python's models, LangChain (reference)",
  },
  {
    id: "chat.tool-finish",
    sentence: "A turn with calls ends in tool_calls, a turn without never does.",
    why: "OpenCode leaves its loop, or hangs in it",
  },
  {
    id: "chat.one-finish",
    sentence: "Exactly one chunk has a finish reason, with an empty delta.",
    why: 'pi throws; the AI SDK reports "other"',
  },
  {
    id: "chat.done-last",
    sentence: "[DONE] comes last, then the body closes.",
    why: "readers that end only when the body closes wait 2 minutes; readers without it take a cut stream for a whole one",
  },
  {
    id: "chat.usage-asked",
    sentence: "Usage comes only when asked, after the finish, with empty choices; other chunks carry null.",
    why: "readers of choices[0] crash on usage that they did not ask for; openai-python rejects missing choices",
  },
  { id: "chat.call-index", sentence: "Every tool call delta has a number as index.", why: "the AI SDK's type check" },
  {
    id: "chat.call-identity",
    sentence: "The first delta of a call has id, type and name; later ones no other id.",
    why: "\"Expected 'id' to be a string\" in OpenCode",
  },
  {
    id: "chat.parallel-calls",
    sentence: "Parallel calls have their own indexes, and their deltas never cross.",
    why: "Codex and OpenCode put the arguments of two calls together",
  },
  {
    id: "chat.empty-arguments",
    sentence: 'Arguments are a JSON string; without parameters "{}".',
    why: "VS Code dropped tools without parameters",
  },
  {
    id: "chat.null-content",
    sentence: "A message with calls may have null content, in both directions.",
    why: "servers that dropped such messages lost the turn",
  },
  {
    id: "chat.content-parts",
    sentence: "Content may be parts on any role.",
    why: "Cline, Continue and OpenCode send parts",
  },
  {
    id: "chat.developer",
    sentence: "Developer messages are system messages.",
    why: "Codex and pi: without it the agent has no instructions",
  },
  {
    id: "chat.any-order",
    sentence: "System messages anywhere, and the same role twice in a row, are accepted.",
    why: "OpenCode",
  },
  {
    id: "chat.tool-results",
    sentence: "Several tool results stay together and paired by id.",
    why: "proxies that separated them lost the pairing",
  },
  {
    id: "chat.token-limits",
    sentence: "Both names of the token limit are honoured.",
    why: "clients use one or the other",
  },
  {
    id: "chat.whole-equals-stream",
    sentence: "The answer that is not streamed holds what the stream does.",
    why: "OpenCode asks for its titles without streaming",
  },
  {
    id: "chat.reasoning",
    sentence: "Thinking is reasoning_content, never content.",
    why: "the AI SDK reads reasoning_content, then reasoning; thinking inside the content repeats text",
  },
  {
    id: "chat.errors",
    sentence: "Errors are JSON with message, type, param and code, and the right status.",
    why: 'the OpenAI SDKs show "undefined"; Cline says that the response was empty',
  },
  {
    id: "chat.stream-error",
    sentence: "A failure in a stream is an error member; no finish reason follows.",
    why: "openai-node throws on a member error; with a finish reason the client stores half an answer",
  },
  {
    id: "chat.unknown-model",
    sentence: "An unknown model is 404 model_not_found, never a default.",
    why: "users got another model without knowing",
  },
  {
    id: "chat.refused-by-name",
    sentence: "n, logprobs and top_logprobs are refused with their name.",
    why: "evaluation tools break when these are ignored",
  },
  {
    id: "chat.hints-ignored",
    sentence: "Hints and unknown members are ignored.",
    why: "clients add members with every release",
  },
  {
    id: "chat.tool-choice",
    sentence: "Every tool choice is understood, also without tools.",
    why: "Claude's agent SDK asks for a title with a choice and no tools",
  },
  {
    id: "chat.stop",
    sentence: "stop takes a text or up to four, is enforced across deltas and is not sent.",
    why: "guidance libraries",
  },
  {
    id: "chat.response-format",
    sentence: "A response format is kept, and its answer is valid JSON or an error.",
    why: "the AI SDK's generateObject, LangChain's structured output",
  },
  {
    id: "messages.order",
    sentence: "event equals data.type, and events come in the API's order.",
    why: 'Amp: "content_block_start before message_start"',
  },
  {
    id: "messages.blocks",
    sentence: "Block indexes rise by one, one block is open at a time.",
    why: 'Claude Code: "Content block not found", "Mismatched content block type"',
  },
  {
    id: "messages.start",
    sentence: "message_start has empty content, no stop reason and real input tokens.",
    why: "Claude Code shows a context of 0",
  },
  {
    id: "messages.final-usage",
    sentence: "message_delta has cumulative output tokens and real input tokens.",
    why: "Claude Code never compacts; it keeps the old number when the new one is 0 or absent",
  },
  {
    id: "messages.ping",
    sentence: "A no-op event within 15 s of silence, only while the upstream is known alive.",
    why: "a banner at 20 s, an abort near 180 s; pings of a dead upstream hide that it is dead",
  },
  {
    id: "messages.stop-reason",
    sentence: "tool_use, end_turn, max_tokens, stop_sequence with its value, refusal.",
    why: "with end_turn beside a tool block the call is ignored",
  },
  {
    id: "messages.tool-input",
    sentence: "tool_use starts with {}, its fragments make one object.",
    why: '"Invalid tool parameters" in Claude Code',
  },
  {
    id: "messages.no-forged-signature",
    sentence: "No signature is made up; unsigned thinking is dropped on replay, signed kept.",
    why: 'the vendor\'s API answers 400 "Invalid signature"',
  },
  {
    id: "messages.system",
    sentence: "system is text or blocks; the billing line is not part of the prompt.",
    why: "Claude Code's first block, x-anthropic-billing-header…, differs with each conversation",
  },
  {
    id: "messages.stream-error",
    sentence: "A failure in a stream is an error event; no message_stop follows.",
    why: "on a broken stream Claude Code sends a second request without streaming",
  },
  {
    id: "messages.errors",
    sentence: "Error bodies have type, error and request_id, with the API's types.",
    why: "Anthropic's SDKs choose by the type whether to retry",
  },
  {
    id: "messages.count-tokens",
    sentence: "count_tokens counts what generation counts, with any query.",
    why: "/context is wrong; another estimate than generation's compacts too early",
  },
  {
    id: "messages.tool-results",
    sentence: "Tool results as text or blocks, several in one message, come before its text.",
    why: "Claude Code's parallel tools",
  },
  {
    id: "messages.betas",
    sentence: "Cache control, betas, unknown blocks and adaptive thinking are accepted.",
    why: "Claude Code adds beta features each month",
  },
  {
    id: "messages.model-ids",
    sentence: "Suffixed model ids resolve; the quota message is answered without a prompt.",
    why: 'ids end in [1m] or a date; a one-word "quota" message asks whether the account answers, at each poll',
  },
  {
    id: "messages.auth",
    sentence: "The key is taken from x-api-key or as a bearer token.",
    why: "Claude Code uses one or the other, by variable",
  },
  {
    id: "messages.request-id",
    sentence: "request-id is set, and the model is echoed as it was asked for.",
    why: "error objects of the SDK, support",
  },
  {
    id: "responses.terminal",
    sentence: "A stream always ends in completed, failed or incomplete; sequence numbers rise.",
    why: "Codex reconnects five times, then fails",
  },
  {
    id: "responses.ladder",
    sentence: "Every item has its full ladder of events.",
    why: "clients that wait for a .done event",
  },
  {
    id: "responses.output-index",
    sentence: "Every item has an output_index of its own.",
    why: "Codex drops the tool call",
  },
  {
    id: "responses.call-ids",
    sentence: "A function call's id is not its call_id; arguments have delta and done.",
    why: "Codex, the agents SDK (reference)",
  },
  {
    id: "responses.custom-tools",
    sentence: "Custom tools go in and out as raw text.",
    why: "Codex's apply_patch silently does nothing",
  },
  {
    id: "responses.previous",
    sentence: "A tool's output alone continues a stored response; an unknown one is 404.",
    why: "VS Code's Copilot",
  },
  {
    id: "responses.codex-defaults",
    sentence:
      "store, include and instructions are tolerated; hosted tools refused by name, or left out by name beside own ones.",
    why: "Codex sends these by default",
  },
  {
    id: "responses.done",
    sentence: "[DONE] follows the terminal event.",
    why: "some relays drop the terminal event without it; openai-node ignores what follows",
  },
  {
    id: "responses.aliases",
    sentence: "/responses and /v1/response work; client_version on models does no harm.",
    why: "relays and Codex use them",
  },
  {
    id: "http.aliases",
    sentence: "Root aliases, a doubled /v1, a slash at the end and queries are tolerated.",
    why: "clients that add /v1 themselves, or do not",
  },
  {
    id: "http.open-routes",
    sentence: "HEAD /, /api/hello and /health answer without a key, and quietly in the log.",
    why: "Claude Code connects ahead; switchers measure speed",
  },
  {
    id: "http.preflight",
    sentence: "OPTIONS answers allowed origins with the headers they ask for.",
    why: "browser SDKs send a dozen x-stainless-* headers",
  },
  {
    id: "http.sse",
    sentence: "Streams are never cached, compressed, buffered or delayed.",
    why: "nginx and others hold a stream back",
  },
  {
    id: "http.retry-after",
    sentence: "retry-after is whole seconds up to 60; an exhausted quota says not to retry, and when it resets.",
    why: "openai-node ignores waits above 60 s and repeats after its own; OpenCode believed waits of days",
  },
  {
    id: "http.permanent-4xx",
    sentence: "What gets no better by repeating is no 5xx, or says not to repeat.",
    why: "the SDKs repeat a 5xx twice: the prompt is paid three times",
  },
  {
    id: "http.request-id",
    sentence: "Every response has x-request-id, the same as in body and log.",
    why: "the OpenAI SDK's request_id, support",
  },
  {
    id: "http.models",
    sentence: "Models are in one order, unique, with stable dates, and found by escaped ids.",
    why: "clients compare polls of the list",
  },
  {
    id: "http.anthropic-models",
    sentence: "Claude Code gets the list in its shape, with ids that it shows.",
    why: "Claude Code shows ids that begin with claude or anthropic only, asked with limit=1000, within 3 s",
  },
  {
    id: "http.body-size",
    sentence: "Bodies of 32 MB are taken if images make them large; 413 comes in the caller's shape; charset is fine.",
    why: "agents send pictures",
  },
  {
    id: "http.early-abort",
    sentence: "A client that leaves before the first byte is noticed.",
    why: "the model would continue without a reader",
  },
  {
    id: "http.unsupported",
    sentence: "Unsupported routes answer JSON that names what there is.",
    why: "Continue and LibreChat try routes that are not there",
  },
  {
    id: "models.neutral-names",
    sentence:
      "Cursor hides names with claude: such models have names without it. That it cannot reach loopback is documented.",
    why: 'Cursor filters names that contain "claude", and cannot reach loopback',
  },
] as const satisfies readonly Requirement[];

export type RequirementId = (typeof requirements)[number]["id"];
