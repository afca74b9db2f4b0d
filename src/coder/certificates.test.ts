import { createCertificateAuthority } from "kube-controller-runtime/testing";
import { expect, it } from "vitest";
import { parseCertificates } from "./certificates.ts";

const BEGIN = "-----BEGIN CERTIFICATE-----";

it("finds each certificate of a bundle, regardless of the text between them", () => {
  const [first, second] = [createCertificateAuthority().cert, createCertificateAuthority().cert];
  expect(parseCertificates(`a comment\n${first}# another\n${second}`)).toHaveLength(2);
});

it("finds no certificate in a text with any number of begin markers and no end", () => {
  // A backtracking expression would take minutes for this input.
  expect(parseCertificates(BEGIN.repeat(200_000))).toBeUndefined();
});
