package access

import (
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// attributes are the short names of what names consist of, by object identifier: those of RFC 4514 and of Go, and
// emailAddress.
var attributes = map[string]string{
	"2.5.4.3": "CN", "2.5.4.5": "SERIALNUMBER", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.9": "STREET", "2.5.4.10": "O", "2.5.4.11": "OU",
	"2.5.4.17": "POSTALCODE", "0.9.2342.19200300.100.1.25": "DC", "0.9.2342.19200300.100.1.1": "UID", "1.2.840.113549.1.9.1": "emailAddress",
}

type attribute struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

type relativeNameSET []attribute // package asn1 reads a type with such a name as a SET

// nameText returns a name as RFC 4514 writes it, in the order of the certificate, the last part first. Names that
// differ have different texts, but for the type of their strings: the same characters are the same name (RFC 5280,
// section 7.1). What is no name at all is returned as its bytes.
func nameText(raw []byte) string {
	var sequence []relativeNameSET
	if rest, err := asn1.Unmarshal(raw, &sequence); err != nil || len(rest) > 0 {
		return hexText(raw)
	}
	slices.Reverse(sequence)
	var parts []string
	for _, set := range sequence {
		var values []string
		for _, a := range set {
			values = append(values, a.String())
		}
		parts = append(parts, strings.Join(values, "+"))
	}
	return strings.Join(parts, ",")
}

// String returns an attribute: its bytes if it has no short name, or is no text of ASCII or UTF-8.
func (a attribute) String() string {
	name, known := attributes[a.Type.String()]
	text := string(a.Value.Bytes)
	readable := a.Value.Class == asn1.ClassUniversal && !a.Value.IsCompound && utf8.ValidString(text) &&
		slices.Contains([]int{asn1.TagUTF8String, asn1.TagPrintableString, asn1.TagIA5String}, a.Value.Tag)
	switch {
	case !known:
		return a.Type.String() + "=" + hexText(a.Value.FullBytes)
	case !readable:
		return name + "=" + hexText(a.Value.FullBytes)
	}
	return name + "=" + escaped(text)
}

// hexText returns bytes as a name has them.
func hexText(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	return "#" + hex.EncodeToString(raw)
}

// escaped returns a text as a name has it (RFC 4514, section 2.4).
func escaped(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case strings.ContainsRune(`"+,;<>\`, r), r == '#' && i == 0, r == ' ' && (i == 0 || i == len(text)-1):
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
