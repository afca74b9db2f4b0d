import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { appearance, appearanceBody } from "./appearance.ts";

function recorded(name: string) {
  const file = new URL(`../../test/fixtures/coderd/recordings/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, "utf8"));
}

test("the appearance that coderd returns can be sent back unchanged", () => {
  const { request } = recorded("appearance-set");
  expect(appearanceBody(appearance(recorded("appearance-two").response.body, ""))).toEqual(request.body);
});

test("nothing of an appearance is cut, and a banner may lack what coderd leaves out", () => {
  const logo = "data:image/svg+xml,".padEnd(100_000, "x");
  const banners = [{ enabled: false }];
  const seen = appearance({ application_name: "", logo_url: logo, announcement_banners: banners }, "");
  expect(seen).toEqual({
    applicationName: "",
    logoUrl: logo,
    banners: [{ enabled: false, message: "", backgroundColor: "" }],
  });
});
