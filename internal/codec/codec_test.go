package codec_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"almanac/internal/codec"
)

// ring returns a key ring with keys of these IDs. An ID always has the same key.
func ring(t testing.TB, ids ...string) *codec.KeyRing {
	t.Helper()
	entries := make([]string, len(ids))
	for i, id := range ids {
		key := []byte(strings.Repeat(id, 32))[:32]
		entries[i] = id + ":" + base64.StdEncoding.EncodeToString(key)
	}
	r, err := codec.ParseKeys(strings.Join(entries, ","))
	require.NoError(t, err)
	return r
}

func payload(text string) *commonpb.Payload {
	return &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(text)}
}

// workflowID is the workflow for which the tests encrypt payloads.
const workflowID = "job/a"

func encode(t testing.TB, r *codec.KeyRing, p *commonpb.Payload) *commonpb.Payload {
	t.Helper()
	encoded, err := r.Codec(workflowID).Encode([]*commonpb.Payload{p})
	require.NoError(t, err)
	require.Len(t, encoded, 1)
	return encoded[0]
}

func TestPayloadsComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	keys := ring(t, "new", "old")
	for name, p := range map[string]*commonpb.Payload{
		"a short text":  payload(`"a secret"`),
		"a long text":   payload(`"` + strings.Repeat("a secret, ", 1000) + `"`),
		"no data":       {Metadata: map[string][]byte{"encoding": []byte("binary/null")}},
		"nothing":       {},
		"more metadata": {Metadata: map[string][]byte{"encoding": []byte("json/protobuf"), "messageType": {0, 1}}, Data: []byte("{}")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := proto.CloneOf(p)
			encrypted := encode(t, keys, p)
			require.True(t, proto.Equal(before, p), "the argument was changed")
			require.Equal(t, "binary/encrypted", string(encrypted.Metadata["encoding"]))
			require.Equal(t, "new", string(encrypted.Metadata["encryption-key-id"]))
			require.NotContains(t, encrypted.String(), "secret")
			decoded, err := ring(t, "old", "new").Codec(workflowID).Decode([]*commonpb.Payload{encrypted})
			require.NoError(t, err)
			require.True(t, proto.Equal(p, decoded[0]), "got %v", decoded[0])
		})
	}
}

func TestWhatGetsSmallerIsCompressed(t *testing.T) {
	t.Parallel()
	keys := ring(t, "k")
	long := payload(strings.Repeat("all of this is the same. ", 100))
	require.Less(t, proto.Size(encode(t, keys, long)), proto.Size(long)/5)
	short := payload("7")
	require.Len(t, encode(t, keys, short).Data, proto.Size(short)+12+16, "a nonce, a tag, and nothing else")
}

func TestTheSamePayloadLooksDifferentEachTime(t *testing.T) {
	t.Parallel()
	keys := ring(t, "k")
	first := encode(t, keys, payload("1"))
	require.NotEqual(t, first.Data, encode(t, keys, payload("1")).Data)
}

func TestPayloadsInClearAreRefusedOnceThereAreKeys(t *testing.T) {
	t.Parallel()
	clear := payload(`"written before there were keys"`)
	var refused *codec.ClearPayloadError
	for name, p := range map[string]*commonpb.Payload{"text": clear, "nothing": {}, "other encoding": {
		Metadata: map[string][]byte{"encoding": []byte("binary/zlib")}, Data: []byte("x"),
	}} {
		decoded, err := ring(t, "k").Codec(workflowID).Decode([]*commonpb.Payload{p})
		require.ErrorAs(t, err, &refused, name)
		require.Nil(t, decoded)
		require.ErrorContains(t, err, "--accept-clear-payloads")
		require.NotContains(t, err.Error(), "written before there were keys\"")
	}
}

func TestPayloadsInClearAreReadDuringAMigrationAndWithoutKeys(t *testing.T) {
	t.Parallel()
	clear := payload(`"written before there were keys"`)
	for _, keys := range []*codec.KeyRing{nil, (*codec.KeyRing)(nil).AcceptingClear(), ring(t, "k").AcceptingClear()} {
		decoded, err := keys.Codec(workflowID).Decode([]*commonpb.Payload{clear})
		require.NoError(t, err)
		require.Same(t, clear, decoded[0])
	}
	require.NotContains(t, encode(t, ring(t, "k").AcceptingClear(), clear).String(), "written", "what is new is encrypted")
}

// Write access to Temporal's database does not allow copying payloads from one job to another.
func TestAPayloadIsValidInItsWorkflowOnly(t *testing.T) {
	t.Parallel()
	keys := ring(t, "k")
	encrypted := encode(t, keys, payload(`"a secret"`))
	renamed, unnamed := proto.CloneOf(encrypted), proto.CloneOf(encrypted)
	renamed.Metadata["encryption-workflow-id"] = []byte("another")
	delete(unnamed.Metadata, "encryption-workflow-id")
	ofNone, err := keys.Codec("").Encode([]*commonpb.Payload{payload("1")})
	require.NoError(t, err)
	for _, tt := range []struct {
		name    string
		in      string
		payload *commonpb.Payload
		want    string
	}{
		{"in another workflow", "another", encrypted, `encrypted for the workflow "` + workflowID + `" was found in "another": it was copied there, or is read for the wrong workflow; reset or delete that workflow`},
		{"outside of workflows", "", encrypted, `was found in ""`},
		{"of none, in a workflow", workflowID, ofNone[0], `encrypted for the workflow ""`},
		{"with the other's name", "another", renamed, "damaged"},
		{"without a name", "", unnamed, "damaged"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			decoded, err := keys.Codec(tt.in).Decode([]*commonpb.Payload{tt.payload})
			require.ErrorContains(t, err, tt.want)
			require.Nil(t, decoded)
		})
	}
}

func TestWithoutKeysNothingIsEncrypted(t *testing.T) {
	t.Parallel()
	clear := payload("1")
	require.Same(t, clear, encode(t, nil, clear))
}

func TestWhatCannotBeDecryptedIsAnError(t *testing.T) {
	t.Parallel()
	encrypted := encode(t, ring(t, "a"), payload("1"))
	changed := func(change func(*commonpb.Payload)) *commonpb.Payload {
		p := proto.CloneOf(encrypted)
		change(p)
		return p
	}
	sameID, err := codec.ParseKeys("a:" + codec.GenerateKey())
	require.NoError(t, err)
	for _, tt := range []struct {
		name    string
		keys    *codec.KeyRing
		payload *commonpb.Payload
		want    string
	}{
		{"the key is missing", ring(t, "b", "c"), encrypted, `the key "a", and the keys here are b, c: add it`},
		{"there are no keys", nil, encrypted, `the key "a", and there are no keys here: add it`},
		{"another key has the id", sameID, encrypted, `with the key "a": either another key has that id now`},
		{"the data was changed", ring(t, "a"), changed(func(p *commonpb.Payload) { p.Data[15] ^= 1 }), "damaged"},
		{"the data was cut", ring(t, "a"), changed(func(p *commonpb.Payload) { p.Data = p.Data[:5] }), "damaged"},
		{"the key's id was changed", ring(t, "a", "b"), changed(func(p *commonpb.Payload) { p.Metadata["encryption-key-id"] = []byte("b") }), "damaged"},
		{"it names no key", ring(t, "a"), changed(func(p *commonpb.Payload) { delete(p.Metadata, "encryption-key-id") }), `the key ""`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			decoded, err := tt.keys.Codec(workflowID).Decode([]*commonpb.Payload{tt.payload})
			require.ErrorContains(t, err, tt.want)
			require.Nil(t, decoded)
		})
	}
}

// The key's ID is bound to the ciphertext, even if two IDs have the same key.
func TestAPayloadIsBoundToTheIDOfItsKey(t *testing.T) {
	t.Parallel()
	key := codec.GenerateKey()
	keys, err := codec.ParseKeys("a:" + key + ",b:" + key)
	require.NoError(t, err)
	p := encode(t, keys, payload("1"))
	p.Metadata["encryption-key-id"] = []byte("b")
	_, err = keys.Codec(workflowID).Decode([]*commonpb.Payload{p})
	require.Error(t, err)
}

func TestKeysAreReadFromVariablesAndFiles(t *testing.T) {
	t.Parallel()
	one, two := codec.GenerateKey(), codec.GenerateKey()
	for name, text := range map[string]string{
		"a variable":            "one:" + one + ",two:" + two,
		"a variable with space": " one:" + one + " , two:" + two + ",\n",
		"a file":                "# the first encrypts\none:" + one + "\n\n  # since 2026\r\ntwo:" + two + "\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keys, err := codec.ParseKeys(text)
			require.NoError(t, err)
			require.Equal(t, []string{"one", "two"}, keys.IDs())
		})
	}
}

func TestBadKeysAreRefusedAndNotShown(t *testing.T) {
	t.Parallel()
	key := codec.GenerateKey()
	short := base64.StdEncoding.EncodeToString(make([]byte, 16))
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", "there is no encryption key"},
		{"only comments", "# none\n\n", "there is no encryption key"},
		{"no id", key, "encryption key 1: it has no id; allowed: id:key"},
		{"an empty id", ":" + key, "encryption key 1: it has no id; allowed: id:key"},
		{"the wrong way round", key + ":id", "encryption key 1: it has no id; allowed: id:key"},
		{"a long id", strings.Repeat("a", 33) + ":" + key, "encryption key 1: it has no id; allowed: id:key"},
		{"a short key", "k:" + short, `encryption key 1: "k" is not a key; allowed: 32 bytes in base64`},
		{"no base64", "k:" + key + "!", `encryption key 1: "k" is not a key; allowed: 32 bytes in base64`},
		{"an id twice", "k:" + key + ",k:" + codec.GenerateKey(), `encryption key 2: the id "k" is taken already`},
		{"several mistakes", "k:" + short + "\n" + key, "encryption key 2: it has no id; allowed: id:key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			keys, err := codec.ParseKeys(tt.text)
			require.Nil(t, keys)
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), key)
			require.NotContains(t, err.Error(), short)
		})
	}
}

func TestAKeyRingShowsItsIDsOnly(t *testing.T) {
	t.Parallel()
	keys := ring(t, "new", "old")
	for _, format := range []string{"%v", "%+v", "%s"} {
		require.Equal(t, "new, old", fmt.Sprintf(format, keys))
	}
	require.Empty(t, (*codec.KeyRing)(nil).IDs())
}

func BenchmarkCodec(b *testing.B) {
	keys := ring(b, "k")
	input := payload(`{"execution":{"id":"0d2a7c1e-7a90-5b0e-9f1f-6a1d3c9d4b52","due":"2026-11-20T17:15:00Z","repeat":7,"action":"MainAction",` +
		`"job":"invoices","collection":"finance"},"action":{"request":{"uri":"https://example.com/hooks/invoices?sig=7c1e7a905b0e9f1f",` +
		`"method":"POST","headers":{"Content-Type":"application/json","X-Trace":"almanac"},"body":"{\"run\":true,\"period\":\"month\"}",` +
		`"authentication":{"username":"scheduler","password":"correct horse battery staple","type":"Basic"}},"type":"Https",` +
		`"retryPolicy":{"retryType":"fixed","retryInterval":"00:01:00","retryCount":4}},"max":5}`)
	encrypted := encode(b, keys, input)
	b.Logf("%d bytes in clear, %d encrypted", proto.Size(input), proto.Size(encrypted))
	for _, bm := range []struct {
		name string
		do   func([]*commonpb.Payload) ([]*commonpb.Payload, error)
		with *commonpb.Payload
	}{{"encode", keys.Codec(workflowID).Encode, input}, {"decode", keys.Codec(workflowID).Decode, encrypted}} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bm.do([]*commonpb.Payload{bm.with}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

var _ converter.PayloadCodec = codec.Codec{}
