package job

import (
	"crypto/x509/pkix"
	"encoding/asn1"
)

// maxPFXRounds is how often a PFX file may want its password hashed. Programs
// write a few thousand, and the most careful of them some hundred thousand.
const maxPFXRounds = 1_000_000

// The shape of a PFX file (RFC 7292), as far as it says what opening it costs.
type (
	pfxFile struct {
		Version  int
		AuthSafe pfxContent
		MAC      pfxMAC `asn1:"optional"`
	}
	pfxContent struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue `asn1:"tag:0,explicit,optional"`
	}
	pfxMAC struct {
		Digest struct {
			Algorithm pkix.AlgorithmIdentifier
			Digest    []byte
		}
		Salt   []byte
		Rounds int `asn1:"optional,default:1"`
	}
	pfxEncrypted struct {
		Version int
		Content struct {
			Type      asn1.ObjectIdentifier
			Algorithm pkix.AlgorithmIdentifier
			Data      asn1.RawValue `asn1:"optional"`
		}
	}
	pfxBag struct {
		ID         asn1.ObjectIdentifier
		Value      asn1.RawValue `asn1:"tag:0,explicit"`
		Attributes asn1.RawValue `asn1:"optional"`
	}
	pfxKey struct {
		Algorithm pkix.AlgorithmIdentifier
		Data      []byte
	}
)

// pfxRounds returns the most rounds of hashing that any part of a PFX file asks
// for, so that a small file cannot keep a processor busy for days. It sees what
// the file says in clear, where all programs put it, and returns 0 for what
// is no PFX file.
func pfxRounds(der []byte) int {
	var file pfxFile
	if _, err := asn1.Unmarshal(der, &file); err != nil {
		return 0
	}
	most := max(file.MAC.Rounds, rounds(file.MAC.Digest.Algorithm))
	var safes []pfxContent
	if !unwrap(file.AuthSafe.Content, &safes) {
		return most
	}
	for _, safe := range safes {
		var encrypted pfxEncrypted
		if _, err := asn1.Unmarshal(safe.Content.Bytes, &encrypted); err == nil {
			most = max(most, rounds(encrypted.Content.Algorithm))
		}
		var bags []pfxBag
		unwrap(safe.Content, &bags)
		for _, bag := range bags {
			var key pfxKey
			if _, err := asn1.Unmarshal(bag.Value.Bytes, &key); err == nil {
				most = max(most, rounds(key.Algorithm))
			}
		}
	}
	return most
}

// unwrap reads the DER that an octet string holds, and reports whether it could.
func unwrap(content asn1.RawValue, v any) bool {
	var octets []byte
	if _, err := asn1.Unmarshal(content.Bytes, &octets); err != nil {
		return false
	}
	_, err := asn1.Unmarshal(octets, v)
	return err == nil
}

// rounds returns how many rounds an algorithm takes to make a key of a password,
// or 0 for one that makes none.
func rounds(algorithm pkix.AlgorithmIdentifier) int {
	var derived struct { // PBES2 and PBMAC1 name another algorithm that does it
		KDF   pkix.AlgorithmIdentifier
		Other pkix.AlgorithmIdentifier
	}
	if _, err := asn1.Unmarshal(algorithm.Parameters.FullBytes, &derived); err == nil {
		algorithm = derived.KDF
	}
	var parameters struct {
		Salt   asn1.RawValue
		Rounds int
	}
	if _, err := asn1.Unmarshal(algorithm.Parameters.FullBytes, &parameters); err != nil {
		return 0
	}
	return parameters.Rounds
}
