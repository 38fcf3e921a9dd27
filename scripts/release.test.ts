import { expect, test } from "vitest";
import { releaseFields } from "./release.ts";

const env = { GITHUB_SERVER_URL: "https://github.com", GITHUB_REPOSITORY: "ann/millrace", GITHUB_REF_NAME: "v1.2.3" };
const repository = "https://github.com/ann/millrace";
const release = { repository, homepage: "", bugs: "" };

test("the package says that it comes from the repository of release.json", () => {
  expect(releaseFields(release, "1.2.3", env)).toEqual({
    repository: { type: "git", url: "git+https://github.com/ann/millrace.git" },
    homepage: "https://github.com/ann/millrace#readme",
    bugs: { url: "https://github.com/ann/millrace/issues" },
  });
  const own = { ...release, homepage: "https://millrace.example", bugs: "https://bugs.example" };
  expect(releaseFields(own, "1.2.3", env)).toMatchObject({ homepage: own.homepage, bugs: { url: own.bugs } });
});

test("there is no release without a repository, from a fork, or of another version than the tag's", () => {
  expect(releaseFields({ ...release, repository: "" }, "1.2.3", env)).toBe(
    `release.json names no repository. Set its "repository" to "${repository}".`,
  );
  expect(releaseFields(release, "1.2.3", { ...env, GITHUB_REPOSITORY: "bob/fork" })).toContain(
    "runs in https://github.com/bob/fork",
  );
  expect(releaseFields(release, "1.2.4", env)).toContain("The tag is v1.2.3, but package.json has version 1.2.4");
});
