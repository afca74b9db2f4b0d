import { createCertificateAuthority } from "kube-controller-runtime/testing";
import { expect, it } from "vitest";
import { parseCertificates } from "./certificates.ts";

const BEGIN = "-----BEGIN CERTIFICATE-----";

it("finds each certificate of a bundle, whatever stands between them", () => {
  const [first, second] = [createCertificateAuthority().cert, createCertificateAuthority().cert];
  expect(parseCertificates(`a comment\n${first}# another\n${second}`)).toHaveLength(2);
});

it("takes a text with beginnings and no end for none, however many there are", () => {
  // A backtracking expression would take minutes for this input.
  expect(parseCertificates(BEGIN.repeat(200_000))).toBeUndefined();
});
