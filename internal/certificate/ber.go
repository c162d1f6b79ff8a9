package certificate

import (
	"encoding/asn1"
	"errors"
)

// Tags of what is converted.
const (
	tagOctets       = 0x04
	tagOID          = 0x06
	tagSequence     = 0x30
	tagOctetsInPart = 0x24 // an octet string in several parts
	tagZero         = 0xa0 // [0], which has values
	tagZeroOctets   = 0x80 // [0], which is an octet string

	maxDepth = 32
)

var errEncoding = errors.New("the encoding cannot be read")

// toDER returns a value in BER as package asn1 reads it: with definite lengths, as short as possible, and with octet
// strings in one part. What is in an octet string stays as it is. Values in DER stay as they are.
func toDER(ber []byte) ([]byte, error) {
	der, rest, err := convertValue(ber, 0)
	if err == nil && len(rest) > 0 {
		err = errEncoding
	}
	return der, err
}

// convertValue converts the first of some values, and returns the others.
func convertValue(ber []byte, depth int) (der, rest []byte, err error) {
	if len(ber) < 2 || ber[0]&0x1f == 0x1f || depth > maxDepth {
		return nil, nil, errEncoding
	}
	tag, length, rest := ber[0], int(ber[1]), ber[2:]
	indefinite := length == 0x80
	if length > 0x80 {
		size := length & 0x7f
		if size > 4 || len(rest) < size {
			return nil, nil, errEncoding
		}
		length = 0
		for _, b := range rest[:size] {
			length = length<<8 | int(b)
		}
		rest = rest[size:]
	}
	constructed := tag&0x20 != 0
	switch {
	case indefinite && !constructed, !indefinite && length > len(rest):
		return nil, nil, errEncoding
	case !constructed:
		return encodeValue(tag, rest[:length]), rest[length:], nil
	case indefinite:
		values, rest, err := convertValues(rest, true, depth)
		return joined(tag, values), rest, err
	}
	values, _, err := convertValues(rest[:length], false, depth)
	return joined(tag, values), rest[length:], err
}

// convertValues converts all values, up to the mark of their end if they have one.
func convertValues(ber []byte, marked bool, depth int) (values [][]byte, rest []byte, err error) {
	for {
		switch {
		case marked && len(ber) >= 2 && ber[0] == 0 && ber[1] == 0:
			return values, ber[2:], nil
		case len(ber) == 0 && !marked:
			return values, nil, nil
		}
		var value []byte
		if value, ber, err = convertValue(ber, depth+1); err != nil {
			return nil, nil, err
		}
		values = append(values, value)
	}
}

// joined encodes a value that consists of others.
func joined(tag byte, values [][]byte) []byte {
	if tag == tagOctetsInPart {
		if octets, ok := octetsOf(values); ok {
			return encodeValue(tagOctets, octets)
		}
	}
	// The encrypted content of RFC 5652 is [0], an octet string, behind a type and an algorithm.
	if tag == tagSequence && len(values) == 3 && values[0][0] == tagOID && values[1][0] == tagSequence && values[2][0] == tagZero {
		if octets, ok := octetsOf(split(contentOf(values[2]))); ok {
			values[2] = encodeValue(tagZeroOctets, octets)
		}
	}
	var content []byte
	for _, value := range values {
		content = append(content, value...)
	}
	return encodeValue(tag, content)
}

// octetsOf returns what octet strings have together; ok is false if a value is none.
func octetsOf(values [][]byte) (octets []byte, ok bool) {
	for _, value := range values {
		if value[0] != tagOctets {
			return nil, false
		}
		octets = append(octets, contentOf(value)...)
	}
	return octets, true
}

// split returns the values in a content in DER.
func split(content []byte) (values [][]byte) {
	for len(content) > 0 {
		var value asn1.RawValue
		rest, err := asn1.Unmarshal(content, &value)
		if err != nil {
			return [][]byte{content} // it was encoded here, so this does not happen
		}
		values, content = append(values, value.FullBytes), rest
	}
	return values
}

// contentOf returns the content of a value in DER.
func contentOf(der []byte) []byte {
	var value asn1.RawValue
	_, _ = asn1.Unmarshal(der, &value) // it was encoded here
	return value.Bytes
}

func encodeValue(tag byte, content []byte) []byte {
	n := len(content)
	der := []byte{tag}
	switch {
	case n < 0x80:
		der = append(der, byte(n))
	case n < 1<<8:
		der = append(der, 0x81, byte(n))
	case n < 1<<16:
		der = append(der, 0x82, byte(n>>8), byte(n))
	case n < 1<<24:
		der = append(der, 0x83, byte(n>>16), byte(n>>8), byte(n))
	default:
		der = append(der, 0x84, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
	}
	return append(der, content...)
}
