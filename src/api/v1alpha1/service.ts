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

/** Of IPv4 and IPv6, loosely: the API server checks what passes. */
const cidr = "^[0-9a-fA-F.:]+/[0-9]{1,3}$";

function nodePort(name: "http" | "https") {
  const description = `Port of every node that leads to ${name}; absent lets Kubernetes choose one.`;
  return int32(description, { minimum: 1, maximum: 65535 });
}

/** Kubernetes refuses these fields with other types, and the children would never be made. */
function onlyWith(types: readonly string[], fields: readonly string[]): Rule[] {
  const isType = `self.?type.orValue('') in [${types.map((type) => `'${type}'`).join(", ")}]`;
  return fields.map((field) => ({
    rule: `!has(self.${field}) || ${isType}`,
    message: `${field} goes with type ${types.join(" or ")}: change the type or leave it out`,
    fieldPath: `.${field}`,
  }));
}

/** The Service in front of coderd or of a workspace proxy. */
export const service = object(
  "The Service in front of the pods.",
  {
    annotations: optional(stringMap("Annotations of the Service, for example for a cloud load balancer.")),
    externalTrafficPolicy: optional(
      choice(
        "Whether traffic from outside may go to pods of other nodes; Local keeps the client's address.",
        ["Cluster", "Local"],
      ),
    ),
    httpNodePort: optional(nodePort("http")),
    httpsNodePort: optional(nodePort("https")),
    loadBalancerClass: optional(
      text("Which load balancer implementation serves the Service. Kubernetes does not let it change.", {
        minLength: 1,
        maxLength: 317,
      }),
    ),
    loadBalancerIP: optional(
      text("Address that the load balancer is asked for, where its implementation still reads this field.", {
        minLength: 1,
        maxLength: 64,
      }),
    ),
    loadBalancerSourceRanges: optional(
      list(
        "Networks whose clients the load balancer lets in; absent means all.",
        text("A network in CIDR notation, such as 203.0.113.0/24.", { maxLength: 64, pattern: cidr }),
      ),
    ),
    port: optional(
      int32("Port of the Service.", { minimum: 1, maximum: 65535, default: serviceDefaults.port }),
    ),
    sessionAffinity: optional(
      choice("Whether a client stays with one pod; absent means None.", ["None", "ClientIP"]),
    ),
    type: optional(
      choice("How the Service is reached.", ["ClusterIP", "NodePort", "LoadBalancer"], {
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
