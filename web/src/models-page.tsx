import { useState } from "preact/hooks";
import { api } from "./api.ts";
import { familiesOf, type Model } from "./model-families.ts";
import { CopyButton, Failure, Loading } from "./parts.tsx";
import { useTitle } from "./title.ts";
import { useData, useNow } from "./use-data.ts";
import { When } from "./when.tsx";
import { modelName, shortCount } from "./words.ts";

/** The models of the account: one row for each family, with its variants under it. */
export function ModelsPage() {
  const { data, error } = useData("models", api.models);
  const [search, setSearch] = useState("");
  useTitle("Models");
  const families = familiesOf(data?.data ?? [], search);
  return (
    <>
      <div class="heading">
        <h1>Models</h1>
        <input
          type="search"
          aria-label="Search models"
          placeholder="Search name, vendor…"
          onInput={({ currentTarget }) => setSearch(currentTarget.value)}
        />
      </div>
      {error !== undefined && <Failure error={error} />}
      {data === undefined && error === undefined && <Loading lines={6} />}
      {data !== undefined && families.length === 0 && <p class="card muted">No model matches.</p>}
      {families.length > 0 && (
        <div class="card scroll">
          <table class="models">
            <caption class="hidden">Models of this account</caption>
            <thead>
              <tr>
                <th scope="col">Model</th>
                <th scope="col">Vendor</th>
                <th scope="col">Cost</th>
                <th scope="col" class="number">
                  Context
                </th>
                <th scope="col" class="number">
                  Output
                </th>
                <th scope="col">Last used</th>
                <th scope="col">
                  <span class="hidden">Copy</span>
                </th>
              </tr>
            </thead>
            {families.map(({ name, models }) => (
              <Family key={name} name={name} models={models} />
            ))}
          </table>
        </div>
      )}
    </>
  );
}

function Family({ name, models }: { readonly name: string; readonly models: readonly Model[] }) {
  const [isOpen, setOpen] = useState(false);
  const [first] = models;
  if (first === undefined) return null;
  if (models.length === 1)
    return (
      <tbody>
        <ModelRow model={first} />
      </tbody>
    );
  return (
    <tbody>
      <ModelRow model={first}>
        <button type="button" class="quiet variants" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {`${isOpen ? "▾" : "▸"} ${models.length} variants`}
          <span class="hidden">{` of ${name}`}</span>
        </button>
      </ModelRow>
      {isOpen && models.slice(1).map((model) => <ModelRow key={model.uid} model={model} isVariant />)}
    </tbody>
  );
}

function ModelRow(props: {
  readonly model: Model;
  readonly isVariant?: boolean;
  readonly children?: preact.ComponentChildren;
}) {
  const { model, isVariant = false, children } = props;
  const now = useNow(60_000);
  const name = modelName({ model_name: model.name });
  return (
    <tr class={`${model.disabled_reason === null ? "" : "disabled"} ${isVariant ? "variant" : ""}`}>
      <th scope="row">
        <span class="name" title={model.uid}>
          {name}
        </span>
        {model.is_default && <span class="badge good">default</span>}
        {model.is_new && <span class="badge">new</span>}
        {children}
        {model.disabled_reason !== null && <span class="muted small block">{model.disabled_reason}</span>}
      </th>
      <td>{model.vendor}</td>
      <td>
        <Cost model={model} />
      </td>
      <td class="number">{model.context_tokens === null ? "–" : shortCount(model.context_tokens)}</td>
      <td class="number">{model.max_output_tokens === null ? "–" : shortCount(model.max_output_tokens)}</td>
      <td>
        {model.last_used_at === null ? (
          <span class="muted">not yet</span>
        ) : (
          <When at={model.last_used_at} now={now} isPast />
        )}
      </td>
      <td class="number">
        <CopyButton text={model.name} label={`the name ${name}`}>
          Copy
        </CopyButton>
      </td>
    </tr>
  );
}

/** Credits as a multiple of the plain price, and the tier that the IDE names. */
function Cost({ model: { credit_multiplier, cost_tier } }: { readonly model: Model }) {
  if (credit_multiplier === 0 || cost_tier === "free") return <>free</>;
  if (credit_multiplier === null) return <>{cost_tier ?? "–"}</>;
  return (
    <>
      {`${credit_multiplier}×`}
      {cost_tier !== null && <span class="tier muted">{` · ${cost_tier}`}</span>}
    </>
  );
}
