import { z } from "zod";

const component = z.looseObject({
  "bom-ref": z.string(),
  name: z.string(),
  version: z.string(),
  properties: z.array(z.looseObject({ name: z.string() })).optional(),
});
const bom = z.looseObject({
  bomFormat: z.literal("CycloneDX"),
  metadata: z.looseObject({ component }),
  components: z.array(component),
  dependencies: z.array(z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()).optional() })),
});

/** The libraries that the notices of a built package name, as `name version`. */
export function bundledTitles(notices: string): readonly string[] {
  return [...notices.matchAll(/^(\S+ \d+\.\d+\.\d\S*) \(.+\)$/gm)].map(([, title = ""]) => title);
}

/**
 * What npm says of the whole tree, cut down to the libraries whose code is in the package. npm takes them for tools of the developers, because
 * a user installs none of them.
 *
 * @throws Error for a library of the notices that npm does not know.
 */
export function sbomOf(whole: unknown, titles: readonly string[]): z.infer<typeof bom> {
  const { components, dependencies, metadata, ...rest } = bom.parse(whole);
  const wanted = new Set(titles);
  const kept = components.filter(({ name, version }) => wanted.delete(`${name} ${version}`));
  if (titles.length === 0 || wanted.size > 0)
    throw new Error(`npm does not know ${[...wanted].join(", ") || "a library"}.`);
  const refs = new Set(kept.map((each) => each["bom-ref"]));
  const self = metadata.component["bom-ref"];
  return {
    ...rest,
    metadata: { ...metadata, component: { ...metadata.component, name: self.replace(/@[^@]*$/, "") } }, // npm says the folder's name
    components: kept.map(({ properties = [], ...each }) => ({
      ...each,
      properties: properties.filter(({ name }) => name !== "cdx:npm:package:development"),
    })),
    dependencies: dependencies
      .filter(({ ref }) => ref === self || refs.has(ref))
      .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) })),
  };
}
