/** The operator as users run it, with knobs for the campaign. */
import "./knobs.ts";
import "../../../src/main.ts";
