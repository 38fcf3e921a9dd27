/*
 * The search of the site, in the index and in the reader's browser. VitePress copies the functions below into the page as text, so each
 * stands alone: it uses nothing of this file.
 */

/** Pages that answer what a user asks come before those that describe every detail. Of two pages of one kind the words decide. */
function boostDocument(id: string): number {
  const page = id.split("#", 1)[0] ?? "";
  if (/\/help\b/.test(page)) return 3;
  if (/\/(reference|clients|usage)\b/.test(page) || page === "/") return 2;
  return /\/(dev|CHANGELOG|CONTRIBUTING)\b/.test(page) ? 0.5 : 1;
}

/** Words of a question that say nothing of its subject are not searched for. */
function processTerm(term: string): string | null {
  const word = term.toLowerCase();
  const empty =
    /^(a|an|and|are|at|be|by|can|do|does|for|from|how|i|if|in|is|it|me|my|of|on|or|that|the|there|this|to|was|what|when|where|which|who|why|will|with|you|your)$/;
  return empty.test(word) ? null : word;
}

export const miniSearch = {
  options: { processTerm },
  searchOptions: {
    boostDocument,
    prefix: (term: string) => term.length > 2,
    fuzzy: (term: string) => (term.length > 4 ? 0.2 : false),
    boost: { title: 4, text: 2, titles: 1 },
  },
};
