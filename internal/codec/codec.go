// Package codec encrypts what Almanac hands to Temporal, so that a Temporal
// server, its database and its backups hold no secrets in clear.
//
// [ParseKeys] makes a [KeyRing]; [KeyRing.Converters] returns what the client
// of an API or a worker needs, and [KeyRing.Handler] is the codec server with
// which the Temporal Web UI and CLI show payloads in clear.
//
// # What is encrypted
//
// The SDK sends through the codec every argument and result of workflows,
// activities, updates, queries and signals, heartbeats, markers, the messages
// and stack traces of failures, memos, and the summaries and details that
// people read. Workflow ids, the names of types, search attributes and times
// are not encrypted: Temporal works with them.
//
// # Format
//
// An encrypted payload has the encoding binary/encrypted, and names its key in
// the metadata encryption-key-id and its workflow in encryption-workflow-id. Its
// data is a random nonce of 12 bytes and the serialized payload under
// AES-256-GCM, with both ids as additional data. What gets smaller is compressed
// before.
//
// # Payloads of another workflow
//
// A payload is valid in the workflow that it was encrypted for: nobody who can
// write to Temporal and has no key can copy a job's definition into another job.
// The SDK says whose payloads it converts ([converter.WorkflowSerializationContext]),
// and an API or a worker refuses one that names another workflow. The codec server
// is not told where a payload was found. It shows what it can decrypt, and encrypts
// nothing. An older payload of the same workflow is valid in place of a newer one.
//
// # Payloads in clear
//
// With keys, a payload in clear is refused: it may be from anybody who reaches
// Temporal. Without keys payloads are in clear, and so are those of jobs that are
// older than the keys: [KeyRing.AcceptingClear] returns a ring that reads them
// as they are, for a migration. The messages of failures in clear are shown
// either way.
//
// Random nonces make a key good for 2^32 payloads, some hundred million
// executions: give a busy installation a new key in time.
//
// # Rotation
//
// A payload keeps the key it was written with, for Temporal's event histories
// are never rewritten. The state of a job is written anew, with the first key,
// when its workflow continues as new; an update, an attempt or a heartbeat is
// written with the first key of its day. So:
//
//  1. Add the new key at the end, and restart everything: all can read it.
//  2. Move it to the front, and restart everything: all that is new uses it.
//  3. Keep the old key for as long as a run that has payloads of it is open or
//     retained. After that only memos, which Temporal copies from run to run
//     for people to read, still need it; a job that is deleted and created
//     again has nothing of it. Job collections seldom continue as new, so most
//     installations keep old keys for good, at no cost.
//
// An API or a worker that lacks a key says so, naming it: see
// [MissingKeyError]. Jobs stand still meanwhile. They go on when the key is back:
// within ten minutes, the longest that Temporal waits before it tries the task
// of a workflow again. The exception is an attempt of an action that was handed
// to a worker without the key: it fails and counts, which is why step 1 comes
// first.
package codec

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"strings"
	"sync"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// The metadata of an encrypted payload; Temporal's samples use the same names.
const (
	encoding      = "binary/encrypted"
	metadataKeyID = "encryption-key-id"

	metadataWorkflowID = "encryption-workflow-id" // ours
)

// A MissingKeyError says that a payload is encrypted with a key that is not in
// the ring.
type MissingKeyError struct {
	KeyID string // as the payload names it
	Have  []string
}

func (e *MissingKeyError) Error() string {
	have := "there are no keys here"
	if len(e.Have) > 0 {
		have = "the keys here are " + strings.Join(e.Have, ", ")
	}
	return fmt.Sprintf("a payload is encrypted with the key %.40q, and %s: add it to ALMANAC_ENCRYPTION_KEYS, or to the file that holds the keys", e.KeyID, have)
}

// A ClearPayloadError says that a payload is not encrypted although there are keys.
type ClearPayloadError struct{}

func (*ClearPayloadError) Error() string {
	return "a payload is in clear although there are encryption keys: it was written before there were keys, or by a program that has none. " +
		"If jobs are older than the keys, start every api and worker with --accept-clear-payloads (ALMANAC_ACCEPT_CLEAR_PAYLOADS=true). " +
		"If it is an argument that was sent with the temporal CLI or Web UI, use Almanac's API: they cannot encrypt for a workflow"
}

// A MisplacedError says that a payload was encrypted for another workflow than the
// one it was found in.
type MisplacedError struct {
	Workflow string // that it was encrypted for; "" for none
	Found    string // the workflow that it was found in; "" for none
}

func (e *MisplacedError) Error() string {
	return fmt.Sprintf("a payload that was encrypted for the workflow %.300q was found in %.300q: it was copied there, or is read for the wrong workflow; reset or delete that workflow", e.Workflow, e.Found)
}

// A Codec encrypts and decrypts the payloads of one workflow. It is a
// [converter.PayloadCodec].
type Codec struct {
	keys     *KeyRing
	workflow string
}

// Codec returns the codec for the payloads of a workflow; "" means of none.
func (r *KeyRing) Codec(workflowID string) Codec { return Codec{r, workflowID} }

// Encode encrypts payloads with the first key. It does not fail.
func (c Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) { return c.keys.encrypt(p, c.workflow) })
}

// Decode decrypts payloads. The error is a [MissingKeyError] if a key is missing, a
// [ClearPayloadError] if a payload is in clear, and a [MisplacedError] if it was
// encrypted for another workflow. A ring without keys and one of
// [KeyRing.AcceptingClear] return payloads in clear as they are.
func (c Codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		decoded, err := c.keys.decrypt(p)
		if err == nil && isEncrypted(p) && workflowOf(p) != c.workflow {
			return nil, &MisplacedError{Workflow: workflowOf(p), Found: c.workflow}
		}
		return decoded, err
	})
}

func isEncrypted(p *commonpb.Payload) bool {
	return string(p.GetMetadata()[converter.MetadataEncoding]) == encoding
}

// workflowOf returns the id of the workflow that an encrypted payload names.
func workflowOf(p *commonpb.Payload) string { return string(p.GetMetadata()[metadataWorkflowID]) }

func each(payloads []*commonpb.Payload, do func(*commonpb.Payload) (*commonpb.Payload, error)) ([]*commonpb.Payload, error) {
	done := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		var err error
		if done[i], err = do(p); err != nil {
			return nil, err
		}
	}
	return done, nil
}

// additional returns what is authenticated beside a payload. The id of a key has no line end.
func additional(keyID, workflowID string) []byte { return []byte(keyID + "\n" + workflowID) }

func (r *KeyRing) encrypt(p *commonpb.Payload, workflowID string) (*commonpb.Payload, error) {
	if r == nil {
		return p, nil
	}
	text, err := compressed(p)
	if err != nil {
		return nil, fmt.Errorf("serialize a payload: %w", err)
	}
	id := r.ids[0]
	metadata := map[string][]byte{converter.MetadataEncoding: []byte(encoding), metadataKeyID: []byte(id)}
	if workflowID != "" {
		metadata[metadataWorkflowID] = []byte(workflowID)
	}
	return &commonpb.Payload{Metadata: metadata, Data: r.keys[id].Seal(nil, nil, text, additional(id, workflowID))}, nil
}

// decrypt decrypts a payload of whatever workflow.
func (r *KeyRing) decrypt(p *commonpb.Payload) (*commonpb.Payload, error) {
	if !isEncrypted(p) {
		if r != nil && !r.acceptClear {
			return nil, &ClearPayloadError{}
		}
		return p, nil
	}
	id := string(p.GetMetadata()[metadataKeyID])
	if r == nil || r.keys[id] == nil {
		return nil, &MissingKeyError{KeyID: id, Have: r.IDs()}
	}
	text, err := r.keys[id].Open(nil, nil, p.GetData(), additional(id, workflowOf(p)))
	if err != nil {
		return nil, fmt.Errorf("a payload cannot be decrypted with the key %q: either another key has that id now, or the payload was damaged", id)
	}
	inner := &commonpb.Payload{}
	if err := proto.Unmarshal(text, inner); err != nil {
		return nil, fmt.Errorf("a decrypted payload cannot be read: %w", err)
	}
	decoded, err := zlibCodec.Decode([]*commonpb.Payload{inner})
	if err != nil {
		return nil, fmt.Errorf("a decrypted payload cannot be decompressed: %w", err)
	}
	return decoded[0], nil
}

// What is compressed has the form that the SDK's own codec reads. Its Encode
// is not used: it makes a compressor of some hundred kilobytes for every payload.
var (
	zlibCodec   = converter.NewZlibCodec(converter.ZlibCodecOptions{})
	compressors = sync.Pool{New: func() any { return zlib.NewWriter(nil) }}
)

// compressed serializes a payload, and compresses it if that makes it smaller.
func compressed(p *commonpb.Payload) ([]byte, error) {
	text, err := proto.Marshal(p)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z := compressors.Get().(*zlib.Writer)
	defer compressors.Put(z)
	z.Reset(&b)
	_, err = z.Write(text)
	if err := errors.Join(err, z.Close()); err != nil {
		return nil, err
	}
	smaller, err := proto.Marshal(&commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte("binary/zlib")}, Data: b.Bytes(),
	})
	if err != nil || len(smaller) >= len(text) {
		return text, err
	}
	return smaller, nil
}
