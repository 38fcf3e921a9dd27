import { globSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { miniSearch } from "../../site/.vitepress/search.ts";

/** What users ask, and the pages of which one must be among the first hits. */
const questions: readonly (readonly [question: string, answer: RegExp])[] = [
  ["How do I change the port?", /\/(faq|configuration)\.html/],
  ["What is stored of my prompts?", /\/faq\.html/],
  ["are prompts stored", /\/faq\.html/],
  ["How do I remove it?", /\/faq\.html/],
  ["remove millrace", /\/faq\.html/],
  ["uninstall", /\/(faq|cli)\.html/],
  ["two IDEs", /\/(faq|configuration|troubleshooting)\.html/],
  ["what does it cost", /\/faq\.html/],
  ["answer lost", /\/faq\.html/],
  ["share with a colleague", /\/(configuration|reach)\.html/],
  ["429", /\/troubleshooting\.html/],
  ["copilot", /\/(guides|clients)\.html/],
  ["statusline tmux", /\/usage\.html/],
];
const firstHits = 3;

interface MiniSearch {
  readonly loadJSON: (json: string, options: object) => { search(text: string): readonly { readonly id: string }[] };
}

/** The questions that the search of the site built in `site/dist` does not answer with its first hits, one line each. */
export async function missedQuestions(site: string): Promise<readonly string[]> {
  const [file] = globSync("dist/assets/chunks/@localSearchIndexroot.*.js", { cwd: site });
  if (file === undefined) return ["There is no index of the search."];
  // The site's own copy, and its own form of the index.
  const MiniSearch = createRequire(join(site, "package.json"))("minisearch") as MiniSearch;
  const index = (await import(pathToFileURL(join(site, file)).href)) as { readonly default: string };
  const search = MiniSearch.loadJSON(index.default, {
    fields: ["title", "titles", "text"],
    storeFields: ["title", "titles"],
    searchOptions: miniSearch.searchOptions,
    ...miniSearch.options,
  });
  return questions.flatMap(([question, answer]) => {
    const hits = search.search(question).slice(0, firstHits);
    return hits.some(({ id }) => answer.test(id))
      ? []
      : [`"${question}" finds ${hits.map(({ id }) => id).join(", ")}, and not ${answer.source}`];
  });
}
