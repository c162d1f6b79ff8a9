package certificate

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"slices"
	"strings"
)

// attributeNames are the names in Windows for the attributes of a certificate's subject. Windows shows
// others as OID.1.2.3.
var attributeNames = []struct {
	oid  asn1.ObjectIdentifier
	name string
}{
	{asn1.ObjectIdentifier{2, 5, 4, 3}, "CN"},
	{asn1.ObjectIdentifier{2, 5, 4, 4}, "SN"},
	{asn1.ObjectIdentifier{2, 5, 4, 5}, "SERIALNUMBER"},
	{asn1.ObjectIdentifier{2, 5, 4, 6}, "C"},
	{asn1.ObjectIdentifier{2, 5, 4, 7}, "L"},
	{asn1.ObjectIdentifier{2, 5, 4, 8}, "S"},
	{asn1.ObjectIdentifier{2, 5, 4, 9}, "STREET"},
	{asn1.ObjectIdentifier{2, 5, 4, 10}, "O"},
	{asn1.ObjectIdentifier{2, 5, 4, 11}, "OU"},
	{asn1.ObjectIdentifier{2, 5, 4, 12}, "T"},
	{asn1.ObjectIdentifier{2, 5, 4, 42}, "G"},
	{asn1.ObjectIdentifier{2, 5, 4, 43}, "I"},
	{asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 25}, "DC"},
	{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 1}, "E"},
}

// Subject returns a certificate's subject in the form of .NET and Azure Scheduler: CN=host,
// O=Org. That is the reverse of the encoded order, which OpenSSL shows: "O = Org, CN = host". It is "" if
// the subject cannot be parsed.
func Subject(c *x509.Certificate) string {
	var name pkix.RDNSequence
	if _, err := asn1.Unmarshal(c.RawSubject, &name); err != nil {
		return ""
	}
	var parts []string
	for _, set := range slices.Backward(name) {
		var attributes []string
		for _, a := range set {
			value, _ := a.Value.(string) // the type of all encodings in use
			attributes = append(attributes, attributeName(a.Type)+"="+quoteAttribute(value))
		}
		parts = append(parts, strings.Join(attributes, " + "))
	}
	return strings.Join(parts, ", ")
}

func attributeName(oid asn1.ObjectIdentifier) string {
	for _, a := range attributeNames {
		if a.oid.Equal(oid) {
			return a.name
		}
	}
	return "OID." + oid.String()
}

// quoteAttribute quotes a value that would be ambiguous without quotes. A quote in it is doubled.
func quoteAttribute(value string) string {
	if value != "" && value == strings.TrimSpace(value) && !strings.ContainsAny(value, ",+=\"\n<>#;") {
		return value
	}
	return `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
}
