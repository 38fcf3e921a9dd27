import type { TimelineEntry, TurnDetail } from "./api.ts";
import { CopyButton } from "./parts.tsx";
import { KeptFor, TextsSwitch } from "./texts.tsx";
import { answerOf } from "./turn-rows.ts";

/** Prompt and answer where this session shows them, and the switch of that. */
export function Texts({ turn, entries }: { readonly turn: TurnDetail; readonly entries: readonly TimelineEntry[] }) {
  const answer = answerOf(entries);
  return (
    <section aria-labelledby="texts">
      <div class="heading">
        <h2 id="texts">Texts</h2>
        {!turn.sealed && <TextsSwitch />}
      </div>
      {turn.sealed ? (
        <p class="card muted">
          The client encrypted this turn with its own key. Only that client can read the prompt and the answer.
        </p>
      ) : !turn.shows_text ? (
        <p class="card muted">
          This browser does not show prompts and answers. <KeptFor />
        </p>
      ) : (
        <div class="card texts">
          {turn.prompt?.map(({ role, text }, index) => (
            <Text key={index} title={role} text={text} isOpen={index === (turn.prompt?.length ?? 0) - 1} />
          ))}
          {answer.thinking !== "" && <Text title="thinking" text={answer.thinking} isOpen={false} />}
          <Text title="answer" text={answer.text} isOpen={true} />
        </div>
      )}
    </section>
  );
}

function Text({ title, text, isOpen }: { readonly title: string; readonly text: string; readonly isOpen: boolean }) {
  return (
    <details open={isOpen}>
      <summary>{title}</summary>
      {text === "" ? (
        <p class="muted">no text</p>
      ) : (
        <>
          <CopyButton text={text} label={`this text: ${title}`}>
            Copy
          </CopyButton>
          <pre>{text}</pre>
        </>
      )}
    </details>
  );
}
