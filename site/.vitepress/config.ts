import { copyFileSync, globSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { defineConfig } from "vitepress";
import { anchorOf } from "../../scripts/docs/markdown.ts";
import { miniSearch } from "./search.ts";

const root = join(import.meta.dirname, "../..");
/** Files that pages link to and that are no pages. */
const linked = [
  "docs/openapi.yaml",
  "docs/config.schema.json",
  "proto/aiserver/v1/chat.proto",
  ...globSync("examples/**/*.ts", { cwd: root }).map((file) => file.replaceAll("\\", "/")),
];

/** The pages for contributors, as the folder has them. */
const contributors = globSync("docs/dev/*.md", { cwd: root }).map((file) => file.replaceAll("\\", "/"));
const headingOf = (file: string) => /^# (.+)$/m.exec(readFileSync(join(root, file), "utf8"))?.[1] ?? file;

const page = (text: string, name: string) => ({ text, link: `/docs/${name}` });

/** These pages have tables that need the room of the outline. */
const wide = /^docs\/(reference|clients|dev\/(turn-machine|wire\/.*))\.md$/;

/** Code in a sentence or a table: a line ends between its words, and inside a long one only where it has a sign. */
function keptWords(code: string): string {
  const word = (text: string) =>
    text.length > 18 ? text.replaceAll(/(?<=[\w;][./_,=:|-])(?=\w)/g, "<wbr>") : `<span class="word">${text}</span>`;
  return code.split(" ").map(word).join(" ");
}

/** The pages stand where they do in the repository, so that one link works in a clone, in the package and on the site. */
export default defineConfig({
  title: "Millrace",
  description:
    "Serves the models of your AI IDE on 127.0.0.1, through the APIs of OpenAI, Anthropic, Google and Ollama.",
  srcDir: root,
  srcExclude: ["{bench,dist,records,scripts,site,src,test,web,proto}/**", ".bundle/**", "coverage/**"],
  outDir: join(root, "site/dist"),
  cacheDir: join(import.meta.dirname, "../node_modules/.vitepress"),
  rewrites: { "README.md": "index.md", "docs/dev/wire/README.md": "docs/dev/wire/index.md" },
  markdown: {
    anchor: { slugify: anchorOf },
    // Links to a README lead to the page that `rewrites` makes of it.
    config: (md) => {
      const { code_inline: inline } = md.renderer.rules;
      md.renderer.rules.code_inline = (...rule) =>
        (inline?.(...rule) ?? "").replace(/(?<=^<code[^>]*>).*(?=<\/code>$)/s, keptWords);
      md.core.ruler.push("readme", ({ tokens }) => {
        for (const link of tokens.flatMap(({ children }) => children ?? [])) {
          const target = link.type === "link_open" ? link.attrGet("href") : null;
          if (target !== null) link.attrSet("href", target.replace(/README\.md(?=#|$)/, "index.md"));
        }
      });
    },
  },
  transformPageData: (data) => (wide.test(data.filePath) ? { frontmatter: { ...data.frontmatter, aside: false } } : {}),
  themeConfig: {
    outline: [2, 3],
    search: { provider: "local", options: { miniSearch } },
    nav: [{ text: "Start", link: "/" }, page("Help", "help"), page("Reference", "reference")],
    sidebar: [
      {
        text: "Use it",
        items: [
          { text: "What it is, and a quick start", link: "/" },
          page("How do I", "how-do-i"),
          page("Help", "help"),
          page("Clients", "clients"),
          page("The meter and the dashboard", "usage"),
          page("Reference", "reference"),
          page("Systems and containers", "platforms"),
          { text: "Changelog", link: "/CHANGELOG" },
        ],
      },
      {
        text: "Rely on it",
        items: [
          page("What survives what", "reliability"),
          { text: "Security", link: "/SECURITY" },
          page("Agents", "agents"),
        ],
      },
      {
        text: "Build on it",
        items: [page("HTTP API", "http-api"), page("Client library and stream protocol", "stream-protocol")],
      },
      {
        text: "Work on it",
        collapsed: true,
        items: [
          { text: "Contributing", link: "/CONTRIBUTING" },
          ...contributors.map((file) => ({ text: headingOf(file), link: `/${file.replace(/\.md$/, "")}` })),
          { text: "What the vendor's software speaks", link: "/docs/dev/wire/" },
        ],
      },
    ],
  },
  buildEnd({ outDir }) {
    for (const file of linked) {
      mkdirSync(dirname(join(outDir, file)), { recursive: true });
      copyFileSync(join(root, file), join(outDir, file));
    }
  },
});
