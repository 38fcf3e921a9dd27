import { CopyLine } from "./parts.tsx";

/** What to type first: an agent behind the gateway, a question, and the address for everything else. */
export function FirstRun() {
  return (
    <section class="card empty" aria-labelledby="first">
      <h2 id="first">No turns yet</h2>
      <p>Start the agent that you use. Its answers then come from your plan, and each one is shown here:</p>
      <CopyLine label="the command for Codex" text="millrace run codex" />
      <CopyLine label="the command for Claude Code" text="millrace run claude" />
      <CopyLine label="the command for OpenCode" text="millrace run opencode" />
      <p>Or ask something in a terminal:</p>
      <CopyLine label="the command of a question" text={'millrace chat "What is a millrace?"'} />
      <p>
        Any other tool takes this address as its OpenAI or Anthropic API. <code>millrace keys --value</code> prints the
        key.
      </p>
      <CopyLine label="the address" text={`${location.origin}/v1`} />
    </section>
  );
}
