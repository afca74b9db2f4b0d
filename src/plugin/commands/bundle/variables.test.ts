import { expect, test } from "vitest";
import { plainValuesOf } from "./variables.ts";

const metadata = { name: "a", namespace: "dev", uid: "1", resourceVersion: "1" };

test("variables and flags in plain text are secrets where their names say so or their values have a password", () => {
  const spec = {
    extraEnv: [
      { name: "CODER_OIDC_CLIENT_SECRET", value: "of-a-variable" },
      { name: "CODER_VERBOSE", value: "not-this" },
      { name: "HTTPS_PROXY", value: "http://me:of-a-proxy@proxy:3128" },
    ],
    extraArgs: [
      ...["--oauth2-github-client-secret=of-a-flag", "--verbose=not-this"],
      ...["--oidc-client-secret", "of-a-word", "--log-human", "not-this"],
    ],
  };
  const map = { metadata, data: { CODER_EXTERNAL_AUTH_0_CLIENT_SECRET: "of-a-map", B: "not-this" } };
  const found = plainValuesOf([{ metadata, spec } as Parameters<typeof plainValuesOf>[0][number]], [map]);
  expect(new Set(found)).toEqual(
    new Set(["of-a-variable", "of-a-proxy", "of-a-flag", "of-a-word", "of-a-map"]),
  );
});
