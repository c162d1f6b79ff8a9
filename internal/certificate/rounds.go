package certificate

import (
	"crypto/x509/pkix"
	"encoding/asn1"
)

// maxRounds is the limit of hashing rounds for the password of a PFX file. Programs use a few thousand,
// the most careful ones some hundred thousand.
const maxRounds = 1_000_000

// The structure of a PFX file (RFC 7292), as far as it determines the cost of opening the file.
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

// pfxRounds returns the maximum number of hashing rounds of the parts of a PFX file. It exists because a
// small file could otherwise keep a processor busy for days. It reads the parts in clear, where all
// programs put these numbers, and returns 0 for data that is not a PFX file.
func pfxRounds(pfx []byte) int {
	der, err := toDER(pfx)
	if err != nil {
		return 0
	}
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

// unwrap parses the DER in an octet string into v, and reports success.
func unwrap(content asn1.RawValue, v any) bool {
	var octets []byte
	if _, err := asn1.Unmarshal(content.Bytes, &octets); err != nil {
		return false
	}
	_, err := asn1.Unmarshal(octets, v)
	return err == nil
}

// rounds returns the number of rounds in which an algorithm derives a key from a password; 0 for an
// algorithm that derives none.
func rounds(algorithm pkix.AlgorithmIdentifier) int {
	var derived struct { // PBES2 and PBMAC1 name the key derivation as an algorithm of its own
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
