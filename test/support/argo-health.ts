import { readFileSync } from "node:fs";
import { groupOf, type Kind } from "kube-controller-runtime";
import { LuaFactory, LuaLibraries } from "wasmoon";
import { parse } from "yaml";

interface Health {
  readonly status: string;
  readonly message: string;
}

/** The health of an object in Argo CD, by the script of our guide: the object is a global, as there. */
export async function argoHealth(kind: Kind, object: object): Promise<Health> {
  const guide = readFileSync(new URL("../../docs/gitops.md", import.meta.url), "utf8");
  const [, config = ""] = /```yaml\n(.*?)```/s.exec(guide) ?? [];
  const script = parse(config).data[`resource.customizations.health.${groupOf(kind)}_${kind.kind}`];
  // Of the libraries only base and table exist there.
  const lua = await new LuaFactory().createEngine({ openStandardLibs: false, enableProxy: false });
  try {
    for (const library of [LuaLibraries.Base, LuaLibraries.Table]) lua.global.loadLibrary(library);
    lua.global.set("obj", object);
    return await lua.doString(script);
  } finally {
    lua.global.close();
  }
}
