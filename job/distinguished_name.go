package job

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"slices"
	"strings"
)

// attributeNames are the names that Windows has for the attributes of a
// certificate's subject; it shows the others as OID.1.2.3.
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

// distinguishedName returns a certificate's subject as .NET shows it, and so did
// Azure Scheduler: CN=host, O=Org. That is the reverse of the order in which it
// is encoded, which begins with what is most general; a name that OpenSSL shows
// as "O = Org, CN = host". It is "" for what cannot be read.
func distinguishedName(der []byte) string {
	var name pkix.RDNSequence
	if _, err := asn1.Unmarshal(der, &name); err != nil {
		return ""
	}
	var parts []string
	for _, set := range slices.Backward(name) {
		var attributes []string
		for _, a := range set {
			value, _ := a.Value.(string) // in all its encodings that are in use
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

// quoteAttribute puts a value in quotes where it would be ambiguous without
// them; a quote in it is doubled.
func quoteAttribute(value string) string {
	if value != "" && value == strings.TrimSpace(value) && !strings.ContainsAny(value, ",+=\"\n<>#;") {
		return value
	}
	return `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
}
