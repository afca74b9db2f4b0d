package main

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v4"
	"github.com/google/uuid"

	"github.com/coder/coder/v2/codersdk"
	"github.com/coder/coder/v2/enterprise/coderd/license"
)

const keyID = "coder-k8s-test"

// No secret: whoever has this program can sign, and no other coderd accepts what it signs.
func signingKey() ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(keyID))
	return ed25519.NewKeyFromSeed(seed[:])
}

// What a license of each kind says beyond what all have in common.
var kinds = map[string]func(claims *license.Claims, now time.Time){
	"premium":    func(claims *license.Claims, _ time.Time) { claims.FeatureSet = codersdk.FeatureSetPremium },
	"enterprise": func(claims *license.Claims, _ time.Time) { claims.FeatureSet = codersdk.FeatureSetEnterprise },
	"trial": func(claims *license.Claims, _ time.Time) {
		claims.FeatureSet = codersdk.FeatureSetPremium
		claims.Trial = true
	},
	"expired": func(claims *license.Claims, now time.Time) {
		claims.FeatureSet = codersdk.FeatureSetPremium
		claims.LicenseExpires = jwt.NewNumericDate(now.Add(-2 * time.Hour))
		claims.ExpiresAt = jwt.NewNumericDate(now.Add(-time.Hour))
	},
}

func mint(kind string, now time.Time) (string, error) {
	shape, known := kinds[kind]
	if !known {
		return "", fmt.Errorf("no license is called %q", kind)
	}
	term := jwt.NewNumericDate(now.Add(time.Hour))
	claims := &license.Claims{
		RegisteredClaims: jwt.RegisteredClaims{
			ID:        uuid.NewString(),
			Issuer:    "test@testing.test",
			IssuedAt:  jwt.NewNumericDate(now.Add(-time.Minute)),
			NotBefore: jwt.NewNumericDate(now.Add(-4 * time.Hour)),
			ExpiresAt: term,
		},
		LicenseExpires: term,
		AccountType:    license.AccountTypeSalesforce,
		AccountID:      "test-account-id",
		Version:        license.CurrentVersion,
	}
	shape(claims, now)
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	token.Header[license.HeaderKeyID] = keyID
	return token.SignedString(signingKey())
}

// Prints one license for each kind that is asked for, in that order.
func mintOrExit(wanted []string) {
	lines := make([]string, len(wanted))
	for index, kind := range wanted {
		line, err := mint(kind, time.Now())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		lines[index] = line
	}
	fmt.Println(strings.Join(lines, "\n"))
}
