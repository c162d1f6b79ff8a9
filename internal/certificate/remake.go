package certificate

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // the MAC of most PFX files
	"crypto/sha256"
	"crypto/sha512"
	"encoding/asn1"
	"encoding/binary"
	"hash"
	"unicode/utf16"
)

var (
	oidData   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidSHA256 = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
)

// macHashes are the hashes of MACs, by their object identifiers.
var macHashes = map[string]func() hash.Hash{
	"1.3.14.3.2.26": sha1.New, "2.16.840.1.101.3.4.2.4": sha256.New224, oidSHA256.String(): sha256.New,
	"2.16.840.1.101.3.4.2.2": sha512.New384, "2.16.840.1.101.3.4.2.3": sha512.New,
	"2.16.840.1.101.3.4.2.5": sha512.New512_224, "2.16.840.1.101.3.4.2.6": sha512.New512_256,
}

// needsRemake reports whether package pkcs12 cannot read a PFX file because of its encoding or its MAC.
func needsRemake(pfx []byte) bool {
	der, err := toDER(pfx)
	if err != nil {
		return false
	}
	if !bytes.Equal(der, pfx) {
		return true
	}
	var file pfxFile
	if _, err := asn1.Unmarshal(der, &file); err != nil {
		return false
	}
	switch algorithm := file.MAC.Digest.Algorithm.Algorithm.String(); algorithm {
	case "1.3.14.3.2.26", oidSHA256.String(), "2.16.840.1.101.3.4.2.3": // which go-pkcs12 reads
	default:
		if algorithm == "" || macHashes[algorithm] != nil {
			return true
		}
	}
	return contentInBER(file.AuthSafe.Content.Bytes)
}

// hasMAC reports whether a PFX file has a MAC, by which a wrong password differs from other damage.
func hasMAC(pfx []byte) bool {
	var file pfxFile
	der, err := toDER(pfx)
	if err == nil {
		_, err = asn1.Unmarshal(der, &file)
	}
	return err == nil && len(file.MAC.Digest.Algorithm.Algorithm) > 0
}

// contentInBER reports whether the content of an octet string is in BER.
func contentInBER(octets []byte) bool {
	content := contentOf(octets)
	der, err := toDER(content)
	return err == nil && !bytes.Equal(der, content)
}

// remake returns a PFX file with the same content in DER, and a MAC of its own, after it has checked that of the file,
// if it has one. The error is ErrPassword if that is of another password or another content, and errForm if its MAC is of
// another kind. The number of hashing rounds has been checked.
func remake(pfx []byte, password string) ([]byte, error) {
	der, err := toDER(pfx)
	if err != nil {
		return nil, err
	}
	var file pfxFile
	if rest, err := asn1.Unmarshal(der, &file); err != nil || len(rest) > 0 || !file.AuthSafe.Type.Equal(oidData) {
		return nil, errEncoding
	}
	content := contentOf(file.AuthSafe.Content.Bytes)
	key, err := macPassword(&file.MAC, password, content)
	if err != nil {
		return nil, err
	}
	if content, err = safesInDER(content); err != nil {
		return nil, err
	}
	file.MAC.Digest.Algorithm.Algorithm, file.MAC.Digest.Algorithm.Parameters = oidSHA256, asn1.NullRawValue
	file.MAC.Rounds = 1 // nobody sees the file
	file.MAC.Digest.Digest = mac(sha256.New, key, file.MAC.Salt, 1, content)
	type contentInfo struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue
	}
	safe := asn1.RawValue{Class: asn1.ClassContextSpecific, IsCompound: true, Bytes: encodeValue(tagOctets, content)}
	return asn1.Marshal(struct {
		Version  int
		AuthSafe contentInfo
		MAC      pfxMAC
	}{file.Version, contentInfo{oidData, safe}, file.MAC})
}

// macPassword returns the password as it makes a MAC of a content; without a MAC, as most programs write it.
func macPassword(m *pfxMAC, password string, content []byte) ([]byte, error) {
	key := bmp(password)
	if len(m.Digest.Algorithm.Algorithm) == 0 {
		return key, nil
	}
	newHash := macHashes[m.Digest.Algorithm.Algorithm.String()]
	if newHash == nil {
		return nil, errForm
	}
	valid := func() bool {
		return hmac.Equal(mac(newHash, key, m.Salt, m.Rounds, content), m.Digest.Digest)
	}
	if !valid() {
		if key = nil; password != "" || !valid() { // some programs write no password as no bytes at all
			return nil, ErrPassword
		}
	}
	return key, nil
}

// safesInDER returns the parts of a PFX file in DER, and what is in those that are not encrypted.
func safesInDER(ber []byte) ([]byte, error) {
	der, err := toDER(ber)
	if err != nil {
		return nil, err
	}
	var safes []pfxContent
	if rest, err := asn1.Unmarshal(der, &safes); err != nil || len(rest) > 0 {
		return nil, errEncoding
	}
	var all []byte
	for _, safe := range safes {
		content := safe.Content.Bytes
		if safe.Type.Equal(oidData) {
			inner, err := toDER(contentOf(content))
			if err != nil {
				return nil, err
			}
			content = encodeValue(tagOctets, inner)
		}
		name, err := asn1.Marshal(safe.Type)
		if err != nil {
			return nil, err
		}
		all = append(all, encodeValue(tagSequence, append(name, encodeValue(tagZero, content)...))...)
	}
	return encodeValue(tagSequence, all), nil
}

// bmp returns a password as PFX files have it: in UTF-16, with a zero at its end.
func bmp(password string) []byte {
	var b []byte
	for _, unit := range append(utf16.Encode([]rune(password)), 0) {
		b = binary.BigEndian.AppendUint16(b, unit)
	}
	return b
}

// mac returns the MAC of a content by a password: HMAC with the key of RFC 7292, appendix B, which is as long as the
// hash.
func mac(newHash func() hash.Hash, password, salt []byte, rounds int, content []byte) []byte {
	const forMAC = 3
	h := newHash()
	block := h.BlockSize()
	h.Write(bytes.Repeat([]byte{forMAC}, block))
	h.Write(filled(salt, block))
	h.Write(filled(password, block))
	key := h.Sum(nil)
	for range rounds - 1 {
		h.Reset()
		h.Write(key)
		key = h.Sum(key[:0])
	}
	m := hmac.New(newHash, key)
	m.Write(content)
	return m.Sum(nil)
}

// filled repeats a text until it fills whole blocks.
func filled(text []byte, block int) []byte {
	if len(text) == 0 {
		return nil
	}
	size := (len(text) + block - 1) / block * block
	return bytes.Repeat(text, size/len(text)+1)[:size]
}
