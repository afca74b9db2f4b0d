import { serviceDefaults } from "./defaults.ts";
import {
  choice,
  int32,
  list,
  object,
  optional,
  type Rule,
  rules,
  type Static,
  stringMap,
  text,
} from "./schema.ts";

/** IPv4 and IPv6. The API server validates the value that passes this pattern. */
const cidr = "^[0-9a-fA-F.:]+/[0-9]{1,3}$";

function nodePort(name: "http" | "https") {
  const description = `Port on each node for ${name}. Allocated by Kubernetes by default.`;
  return int32(description, { minimum: 1, maximum: 65535 });
}

/** Kubernetes rejects these fields for other types, so the Service could not be created. */
function onlyWith(types: readonly string[], fields: readonly string[]): Rule[] {
  const isType = `self.?type.orValue('') in [${types.map((type) => `'${type}'`).join(", ")}]`;
  return fields.map((field) => ({
    rule: `!has(self.${field}) || ${isType}`,
    message: `${field} requires type ${types.join(" or ")}`,
    fieldPath: `.${field}`,
  }));
}

/** Service of coderd or a workspace proxy. */
export const service = object(
  "The Service in front of the pods.",
  {
    annotations: optional(
      stringMap("Annotations of the Service, for example to configure a cloud load balancer."),
    ),
    externalTrafficPolicy: optional(
      choice(
        "How nodes distribute external traffic. Cluster may forward it to other nodes. Local preserves the client IP address.",
        ["Cluster", "Local"],
      ),
    ),
    httpNodePort: optional(nodePort("http")),
    httpsNodePort: optional(nodePort("https")),
    loadBalancerClass: optional(
      text("Class of the load balancer implementation. Immutable once set.", {
        minLength: 1,
        maxLength: 317,
      }),
    ),
    loadBalancerIP: optional(
      text(
        "IP address to request from the load balancer. Many implementations ignore this deprecated field.",
        {
          minLength: 1,
          maxLength: 64,
        },
      ),
    ),
    loadBalancerSourceRanges: optional(
      list(
        "Client networks that the load balancer accepts. Defaults to all.",
        text("A network in CIDR notation, such as 203.0.113.0/24.", { maxLength: 64, pattern: cidr }),
      ),
    ),
    port: optional(
      int32("Port of the Service.", { minimum: 1, maximum: 65535, default: serviceDefaults.port }),
    ),
    sessionAffinity: optional(
      choice("Whether requests of a client go to the same pod. Defaults to None.", ["None", "ClientIP"]),
    ),
    type: optional(
      choice("Type of the Service.", ["ClusterIP", "NodePort", "LoadBalancer"], {
        default: serviceDefaults.type,
      }),
    ),
  },
  {
    default: {},
    ...rules(
      ...onlyWith(["LoadBalancer"], ["loadBalancerClass", "loadBalancerIP", "loadBalancerSourceRanges"]),
      ...onlyWith(["NodePort", "LoadBalancer"], ["externalTrafficPolicy", "httpNodePort", "httpsNodePort"]),
    ),
  },
);
export type ServiceSpec = Static<typeof service>;
