import { useState } from "preact/hooks";
import type { ModelsEnvelope } from "../../src/gateway/dashboard/inventory.ts";
import { familiesOf, type Model, rangeOf } from "./model-families.ts";
import { CopyButton, Failure, Loading } from "./parts.tsx";
import { useTitle } from "./title.ts";
import { type DataState, useNow } from "./use-data.ts";
import { When } from "./when.tsx";
import { shortCount } from "./words.ts";

/** The models of the account: one row for each family, with its variants under it. */
export function ModelsPage({ models }: { readonly models: DataState<ModelsEnvelope> }) {
  const { data, error } = models;
  const [search, setSearch] = useState("");
  useTitle("Models");
  const families = familiesOf(data?.data ?? [], search);
  const shown = columns.filter(({ of }) => of(data?.data ?? []) !== undefined);
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
                <th scope="col" class="extra">
                  Vendor
                </th>
                {shown.map(({ title, look }) => (
                  <th key={title} scope="col" class={look}>
                    {title}
                  </th>
                ))}
                <th scope="col" class="extra">
                  Last used
                </th>
                <th scope="col">
                  <span class="hidden">Copy</span>
                </th>
              </tr>
            </thead>
            {families.map((family) => (
              <Family key={family.name} {...family} columns={shown} />
            ))}
          </table>
        </div>
      )}
    </>
  );
}

interface Column {
  readonly title: string;
  readonly look: string;
  /** Undefined where it is not known of any of these models. */
  readonly of: (models: readonly Model[]) => string | undefined;
}

/** Columns of what the IDE may say of a model: one that would be empty in every row is left out. */
const columns: readonly Column[] = [
  { title: "Cost", look: "", of: costOf },
  { title: "Context", look: "number", of: (models) => rangeOf(models, (model) => model.context_tokens, shortCount) },
  {
    title: "Output",
    look: "number extra",
    of: (models) => rangeOf(models, (model) => model.max_output_tokens, shortCount),
  },
];

/** Credits as a multiple of the plain price; the tier that the IDE names where it gives no multiple. */
function costOf(models: readonly Model[]): string | undefined {
  const price = ({ credit_multiplier, cost_tier }: Model) => (cost_tier === "free" ? 0 : credit_multiplier);
  const range = rangeOf(models, price, (multiple) => (multiple === 0 ? "free" : `${multiple}×`));
  const tiers = [...new Set(models.flatMap(({ cost_tier }) => cost_tier ?? []))].filter((tier) => tier !== range);
  const words = [range, tiers.length === 1 ? tiers[0] : undefined].filter((word) => word !== undefined);
  return words.length === 0 ? undefined : words.join(" · ");
}

/** One row for a family, and under it one for each of its variants. */
function Family(props: {
  readonly name: string;
  readonly models: readonly Model[];
  readonly columns: readonly Column[];
}) {
  const { name, models } = props;
  const [isOpen, setOpen] = useState(false);
  return (
    <tbody>
      <ModelRow {...props}>
        {models.length > 1 && (
          <button type="button" class="quiet variants" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {`${isOpen ? "▾" : "▸"} ${models.length} variants`}
            <span class="hidden">{` of ${name}`}</span>
          </button>
        )}
      </ModelRow>
      {isOpen &&
        models.map((model) => (
          <ModelRow key={model.uid} name={model.name} models={[model]} columns={props.columns} isVariant />
        ))}
    </tbody>
  );
}

/** What these models have in common, as ranges where they differ. */
function ModelRow(props: {
  readonly name: string;
  readonly models: readonly Model[];
  readonly columns: readonly Column[];
  readonly isVariant?: boolean;
  readonly children?: preact.ComponentChildren;
}) {
  const { name, models, isVariant = false, children } = props;
  const now = useNow(60_000);
  const reasons = models.map(({ disabled_reason }) => disabled_reason);
  const isDisabled = reasons.every((reason) => reason !== null);
  const used = models.flatMap(({ last_used_at }) => last_used_at ?? []).toSorted();
  return (
    <tr class={`${isDisabled ? "disabled" : ""} ${isVariant ? "variant" : ""}`}>
      <th scope="row">
        <span class="name" title={models.map(({ uid }) => uid).join(", ")}>
          {name}
        </span>
        {models.some((model) => model.is_default) && <span class="badge good">default</span>}
        {models.some((model) => model.is_new) && <span class="badge">new</span>}
        {children}
        {isDisabled && <span class="muted small block">{reasons[0]}</span>}
      </th>
      <td class="extra">{models[0]?.vendor}</td>
      {props.columns.map(({ title, look, of }) => (
        <td key={title} class={look}>
          {of(models) ?? "–"}
        </td>
      ))}
      <td class="extra">
        {used.length === 0 ? <span class="muted">not yet</span> : <When at={used.at(-1) ?? ""} now={now} isPast />}
      </td>
      <td class="number">
        <CopyButton text={name} label={`the name ${name}`}>
          Copy
        </CopyButton>
      </td>
    </tr>
  );
}
