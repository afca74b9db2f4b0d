import { createCertificateAuthority } from "kube-controller-runtime/testing";
import { expect, it } from "vitest";
import { readableCertificates } from "./certificates.ts";

const BEGIN = "-----BEGIN CERTIFICATE-----";

it("finds each certificate of a bundle, whatever stands between them", () => {
  const [first, second] = [createCertificateAuthority().cert, createCertificateAuthority().cert];
  expect(readableCertificates(`a comment\n${first}# another\n${second}`)).toHaveLength(2);
});

it("takes a text with beginnings and no end for none, however many there are", () => {
  // With an expression that looks for the end anew at each beginning this would take minutes.
  expect(readableCertificates(BEGIN.repeat(200_000))).toBeUndefined();
});
