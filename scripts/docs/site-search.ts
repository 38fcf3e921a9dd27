import { globSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { miniSearch } from "../../site/.vitepress/search.ts";

/** What users ask, and the pages of which one must be among the first hits. */
const questions: readonly (readonly [question: string, answer: RegExp])[] = [
  ["How do I change the port?", /\/(help|reference)\.html/],
  ["What is stored of my prompts?", /\/(help|index)\.html/],
  ["are prompts stored", /\/help\.html/],
  ["How do I remove it?", /\/help\.html/],
  ["remove millrace", /\/help\.html/],
  ["uninstall", /\/(help|reference)\.html/],
  ["two IDEs", /\/(help|reference)\.html/],
  ["what does it cost", /\/help\.html/],
  ["answer lost", /\/(help|reliability)\.html/],
  ["share with a colleague", /\/(help|reference)\.html/],
  ["429", /\/help\.html/],
  ["copilot", /\/clients\.html/],
  ["statusline tmux", /\/usage\.html/],
  ["proxy of my company", /\/help\.html/],
  ["upgrade", /\/help\.html/],
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
