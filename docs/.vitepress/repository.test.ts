import { describe, expect, test } from "vitest";
import { repositoryOf } from "./repository.ts";

const name = "coder-k8s";

describe("the site's links to the repository", () => {
  test.for([
    "https://git.example.com/team/coder-k8s",
    "git+https://git.example.com/team/coder-k8s.git",
    "git@git.example.com:team/coder-k8s.git",
    { url: "ssh://git@git.example.com/team/coder-k8s.git" },
  ])("follow %j in package.json", (repository) => {
    const found = repositoryOf({ name, repository });
    expect(found?.home).toBe("https://git.example.com/team/coder-k8s");
    expect(found?.editPattern).toBe("https://git.example.com/team/coder-k8s/edit/main/docs/:path");
    expect(found?.file("config/crd")).toBe("https://git.example.com/team/coder-k8s/blob/main/config/crd");
  });

  test("are left out when package.json names no repository", () => {
    expect(repositoryOf({ name })).toBeUndefined();
    expect(repositoryOf({ name, repository: "coder-k8s" })).toBeUndefined();
  });
});
