/** One sample of a Prometheus text: its name with its labels, and its value. */
interface Sample {
  readonly series: string;
  readonly value: number;
}

interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: readonly Sample[];
}

export interface Exposition {
  readonly text: string;
  readonly families: readonly Family[];
}

const suffixes: Readonly<Record<string, readonly string[]>> = { histogram: ["_bucket", "_sum", "_count"] };

/**
 * Reads the Prometheus text format 0.0.4 strictly, as `promtool check metrics` does: HELP, then TYPE, then the samples of
 * that family and no other; every family once; labels quoted; histograms cumulative, ended by `+Inf` equal to their count.
 *
 * @throws Error that names the line at fault.
 */
export function parseExposition(text: string): Exposition {
  if (!text.endsWith("\n")) throw new Error("the last line has no end");
  const families: { name: string; type: string; help: string; samples: Sample[] }[] = [];
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const fail = (why: string) => new Error(`${why}: ${line}`);
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line);
    const [, what, name = "", rest = ""] = comment ?? [];
    if (what === "HELP") {
      if (families.some((family) => family.name === name)) throw fail("a family stands twice");
      families.push({ name, type: "", help: rest, samples: [] });
      continue;
    }
    const family = families.at(-1);
    if (family === undefined) throw fail("a line before any HELP");
    if (what === "TYPE") {
      if (family.name !== name || family.type !== "") throw fail("TYPE does not follow its HELP");
      family.type = rest;
      continue;
    }
    family.samples.push(parseSample(line, family, fail));
  }
  for (const family of families) if (family.type === "histogram") checkHistogram(family);
  return { text, families };
}

/** The value of the series with this text. Throws when there is none. */
export function sampleOf({ families }: Exposition, series: string): number {
  const found = families.flatMap(({ samples }) => samples).find((sample) => sample.series === series);
  if (found === undefined) throw new Error(`there is no series ${series}`);
  return found.value;
}

function parseSample(line: string, family: Family, fail: (why: string) => Error): Sample {
  const label = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"`;
  const form = new RegExp(`^(([a-zA-Z_:][\\w:]*)(?:\\{${label}(?:,${label})*\\})?) (\\S+)$`);
  const [, series = "", name = "", value = ""] = form.exec(line) ?? [];
  const names = (suffixes[family.type] ?? [""]).map((suffix) => family.name + suffix);
  if (!names.includes(name)) throw fail(`not a sample of ${family.name} (${family.type})`);
  const number = value === "+Inf" ? Infinity : value === "-Inf" ? -Infinity : Number(value);
  if (Number.isNaN(number)) throw fail("the value is not a number");
  return { series, value: number };
}

function checkHistogram({ name, samples }: Family): void {
  const without = (series: string) =>
    series
      .replace(/le="[^"]*",?/, "")
      .replace(/,\}/, "}")
      .replace("{}", "");
  const buckets = samples.filter(({ series }) => series.startsWith(`${name}_bucket`));
  for (const [group, ofGroup] of Map.groupBy(buckets, ({ series }) => without(series))) {
    const counts = ofGroup.map(({ value }) => value);
    if (counts.some((count, index) => count < (counts[index - 1] ?? 0))) throw new Error(`${group} is not cumulative`);
    const last = ofGroup.at(-1);
    const total = samples.find(({ series }) => series === group.replace("_bucket", "_count"));
    if (last?.series.includes('le="+Inf"') !== true || last.value !== total?.value)
      throw new Error(`${group} does not end with +Inf and its count`);
  }
}
