import type { KeysEnvelope } from "../../src/gateway/dashboard/inventory.ts";
import { Loaded, Prose, Words } from "./parts.tsx";
import { useTitle } from "./title.ts";
import type { DataState } from "./use-data.ts";
import { useNow } from "./use-data.ts";
import { When } from "./when.tsx";
import { count } from "./words.ts";

type Key = KeysEnvelope["data"][number];

/** The keys that the owner made for others: what each may, and what it has used. */
export function KeysPage({ keys }: { readonly keys: DataState<KeysEnvelope> }) {
  const now = useNow(60_000);
  useTitle("Keys");
  return (
    <>
      <h1>Keys</h1>
      <p class="muted">
        <Prose text="Keys for others, beside your own. `millrace keys create` makes one, and `millrace keys revoke` ends one. Millrace does not keep their values." />
      </p>
      <Loaded state={keys} lines={4}>
        {({ data }) => {
          const living = data.filter(({ state }) => state !== "revoked");
          const revoked = data.length - living.length;
          return (
            <>
              {living.length === 0 && <p class="card muted">You have made no keys for others.</p>}
              <div class="cards">
                {living.map((key) => (
                  <KeyCard key={key.name} of={key} now={now} />
                ))}
              </div>
              {revoked > 0 && <p class="note">{`${count(revoked)} revoked.`}</p>}
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function KeyCard({ of, now }: { readonly of: Key; readonly now: number }) {
  return (
    <article class="card" aria-label={`Key ${of.name}`}>
      <header>
        <h2>{of.name}</h2>
        <span class={`badge ${of.state === "works" ? "good" : "bad"}`}>{of.state}</span>
        <span class="muted age">
          {of.expires_at === null ? (
            "does not expire"
          ) : (
            <>
              {of.state === "expired" ? "expired " : "expires "}
              <When at={of.expires_at} now={now} />
            </>
          )}
        </span>
      </header>
      {of.turns_per_day === null ? (
        <p class="muted">No limit of turns: this key can use as much of the plan as you can.</p>
      ) : (
        <TurnsMeter turns={of.turns_per_day} now={now} />
      )}
      <dl class="facts">
        <div class={of.models.length > 1 ? "wide" : undefined}>
          <dt>Models</dt>
          <dd>
            <Words texts={of.models.length === 0 ? ["any"] : of.models} between=", " />
          </dd>
        </div>
        <div>
          <dt>Running now</dt>
          <dd>{count(of.running)}</dd>
        </div>
        <div>
          <dt>Made</dt>
          <dd>
            <When at={of.created_at} now={now} isPast />
          </dd>
        </div>
      </dl>
    </article>
  );
}

function TurnsMeter({ turns, now }: { readonly turns: NonNullable<Key["turns_per_day"]>; readonly now: number }) {
  const { most, used, resets_at } = turns;
  const share = Math.min(1, used / most);
  const amount = `${count(used)} of ${count(most)} turns`;
  return (
    <div class={`window ${share >= 1 ? "bad" : share >= 0.8 ? "warn" : "good"}`}>
      <div class="line">
        <span class="label">Today (UTC)</span>
        <span class="amount">{amount}</span>
      </div>
      <div
        class="meter"
        role="meter"
        aria-label={`${count(most)} turns a day`}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(share * 100)}
        aria-valuetext={amount}
      >
        <span class="fill" style={{ width: `${share * 100}%` }} />
      </div>
      <div class="line small muted">
        <span>
          resets <When at={resets_at} now={now} />
        </span>
      </div>
    </div>
  );
}
