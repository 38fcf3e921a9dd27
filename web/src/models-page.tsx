import type { ComponentChildren } from "preact";
import { useContext, useState } from "preact/hooks";
import type { ModelsEnvelope } from "../../src/gateway/dashboard/inventory.ts";
import { familiesOf, type Model, rangeOf, sortedBy } from "./model-families.ts";
import { Choice, CopyButton, Loaded, type Order, SortHead } from "./parts.tsx";
import { type Prices, PricesOfModels } from "./prices.ts";
import { useTitle } from "./title.ts";
import type { DataState } from "./use-data.ts";
import { count, shortCount } from "./words.ts";

/** The models of the account as a table to decide with: one row for each family, with its variants under it. */
export function ModelsPage({ models }: { readonly models: DataState<ModelsEnvelope> }) {
  const [search, setSearch] = useState("");
  const [onlyFree, setOnlyFree] = useState(false);
  const prices = useContext(PricesOfModels);
  useTitle("Models");
  return (
    <>
      <div class="heading">
        <h1>Models</h1>
        <div class="choices">
          <Choice
            label="Price"
            options={[
              ["all", "All"],
              ["free", "Free"],
            ]}
            value={onlyFree ? "free" : "all"}
            onChange={(chosen) => setOnlyFree(chosen === "free")}
          />
          <input
            type="search"
            aria-label="Search models"
            placeholder="Name, vendor…"
            onInput={({ currentTarget }) => setSearch(currentTarget.value)}
          />
        </div>
      </div>
      <Loaded state={models} lines={6}>
        {({ data }) => {
          const wanted = onlyFree ? data.filter(({ uid }) => prices.get(uid) === 0) : data;
          const families = familiesOf(wanted, search);
          if (families.length === 0) return <p class="card muted">No model matches.</p>;
          return <Table families={families} columns={columnsOf(data, prices)} />;
        }}
      </Loaded>
    </>
  );
}

interface Column {
  readonly title: string;
  readonly look: string;
  /** Undefined where it is not known of any of these models. */
  readonly of: (models: readonly Model[]) => ComponentChildren | undefined;
  /** What rows are sorted by; undefined comes last. */
  readonly sort: (models: readonly Model[]) => number | string | undefined;
  /** The order that the first click gives. */
  readonly first: Order;
}

/** Columns of what is known of models: one that would be empty in every row is left out. */
function columnsOf(all: readonly Model[], prices: Prices): readonly Column[] {
  const least = (values: readonly (number | null | undefined)[]) => {
    const known = values.filter((value) => value !== null && value !== undefined);
    return known.length === 0 ? undefined : Math.min(...known);
  };
  const columns: readonly Column[] = [
    { title: "Vendor", look: "extra", of: ([model]) => model?.vendor, sort: ([model]) => model?.vendor, first: "asc" },
    {
      title: "Cost",
      look: "",
      of: costOf,
      sort: (models) => least(models.map(({ uid }) => prices.get(uid))),
      first: "asc",
    },
    {
      title: "Context",
      look: "number extra",
      of: (models) => rangeOf(models, (model) => model.context_tokens, shortCount),
      sort: (models) => least(models.map(({ context_tokens }) => context_tokens)),
      first: "desc",
    },
    {
      title: "Output",
      look: "number extra",
      of: (models) => rangeOf(models, (model) => model.max_output_tokens, shortCount),
      sort: (models) => least(models.map(({ max_output_tokens }) => max_output_tokens)),
      first: "desc",
    },
  ];
  return columns.filter(({ of }) => of(all) !== undefined);
}

const nameColumn: Pick<Column, "title" | "look" | "sort" | "first"> = {
  title: "Model",
  look: "",
  sort: ([model]) => model?.name,
  first: "asc",
};

function Table(props: { readonly families: ReturnType<typeof familiesOf>; readonly columns: readonly Column[] }) {
  const { columns } = props;
  const [sorted, setSorted] = useState<{ readonly title: string; readonly order: Order }>();
  const by = [nameColumn, ...columns].find(({ title }) => title === sorted?.title);
  const families = by === undefined ? props.families : sortedBy(props.families, by.sort, sorted?.order === "desc");
  return (
    <div class="card scroll">
      <table class="models cards-below">
        <caption class="hidden">Models of this account</caption>
        <thead>
          <tr>
            {[nameColumn, ...columns].map(({ title, look, first }) => (
              <SortHead
                key={title}
                title={title}
                look={look}
                order={sorted?.title === title ? sorted.order : undefined}
                first={first}
                onSort={(order) => setSorted({ title, order })}
              />
            ))}
            <th scope="col">
              <span class="hidden">Copy</span>
            </th>
          </tr>
        </thead>
        {families.map((family) => (
          <Family key={family.name} {...family} columns={columns} />
        ))}
      </table>
    </div>
  );
}

/** `2 – 4 credits a prompt`; the tier that the IDE names where it gives no price. */
function costOf(models: readonly Model[]): string | undefined {
  const priceOf = ({ credit_multiplier, cost_tier }: Model) => (cost_tier === "free" ? 0 : credit_multiplier);
  const range = rangeOf(models, priceOf, (price) => (price === 0 ? "free" : count(price)));
  const tiers = [...new Set(models.flatMap(({ cost_tier }) => cost_tier ?? []))].filter((tier) => tier !== range);
  const price =
    range === undefined || range === "free" ? range : `${range} ${range === "1" ? "credit" : "credits"} a prompt`;
  const words = [price, tiers.length === 1 ? tiers[0] : undefined].filter((word) => word !== undefined);
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
  readonly children?: ComponentChildren;
}) {
  const { name, models, isVariant = false, children } = props;
  const reasons = models.map(({ disabled_reason }) => disabled_reason);
  const isDisabled = reasons.every((reason) => reason !== null);
  return (
    <tr class={`${isDisabled ? "disabled" : ""} ${isVariant ? "variant" : ""}`} data-row>
      <th scope="row">
        <span class="name" title={models.map(({ uid }) => uid).join(", ")}>
          {name}
        </span>
        {models.some((model) => model.is_default) && <span class="badge good">default</span>}
        {models.some((model) => model.is_new) && <span class="badge">new</span>}
        {children}
        {isDisabled && <span class="muted small block">{reasons[0]}</span>}
      </th>
      {props.columns.map(({ title, look, of }) => (
        <td key={title} class={look} data-label={title}>
          {of(models) ?? "–"}
        </td>
      ))}
      <td class="number">
        <CopyButton text={name} label={`the name ${name}`}>
          Copy
        </CopyButton>
      </td>
    </tr>
  );
}
