import { readFileSync } from "node:fs";

/** The CustomResourceDefinition of the Gateway API's HTTPRoute. */
export const httpRouteDefinition = readFileSync(
  new URL("../fixtures/gateway-api-httproutes.yaml", import.meta.url),
  "utf8",
);
