/** The operator as users run it, which stops itself in the middle of its work: see `stop-at.ts`. */
import "./stop-at.ts";
import "../../../src/main.ts";
