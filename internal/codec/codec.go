// Package codec encrypts the payloads that Almanac sends to Temporal, so that a Temporal server, its
// database and its backups hold no secrets in clear.
//
// [ParseKeys] returns a [KeyRing]; [KeyRing.Converters] returns the converters for the client of an API or
// a worker; [KeyRing.Handler] is the codec server with which the Temporal Web UI and CLI show payloads in
// clear.
//
// # What is encrypted
//
// The SDK passes these through the codec: arguments and results of workflows, activities, updates, queries
// and signals; heartbeats; markers; messages and stack traces of failures; memos; static summaries and
// details. Workflow IDs, type names, search attributes and times are not encrypted: Temporal works with
// them.
//
// # Format
//
// An encrypted payload has the encoding binary/encrypted. Its metadata encryption-key-id names the key,
// encryption-workflow-id the workflow. Its data is a random nonce of 12 bytes and the serialized payload
// under AES-256-GCM, with both IDs as additional data. The payload is compressed first if that makes it
// smaller.
//
// # Payloads of another workflow
//
// A payload is valid only in the workflow that it was encrypted for, so that someone who can write to
// Temporal but has no key cannot copy a job's definition into another job. The SDK passes the workflow of a
// payload to the converter ([converter.WorkflowSerializationContext]), and an API or a worker refuses a
// payload that names another workflow. The codec server does not get the workflow: it decrypts any payload
// and encrypts none. An older payload of the same workflow is accepted in place of a newer one.
//
// # Payloads in clear
//
// With keys, a payload in clear is refused: anyone who reaches Temporal may have written it. For a
// migration of jobs that are older than the keys, [KeyRing.AcceptingClear] returns a ring that accepts
// payloads in clear. Messages of failures in clear are shown either way.
//
// Random nonces limit a key to 2^32 payloads, some hundred million executions: give a busy installation a
// new key in time.
//
// # Rotation
//
// A payload keeps its key, because Temporal never rewrites event histories. The state of a job is encrypted
// anew, with the first key, when its workflow continues as new; updates, attempts and heartbeats are
// encrypted with the key that is first at the time. To rotate:
//
//  1. Add the new key at the end, and restart everything: all processes can read it.
//  2. Move it to the front, and restart everything: all new payloads use it.
//  3. Keep the old key as long as a run with payloads of that key is open or retained. After
//     that only memos still need it, which Temporal copies from run to run; without it people cannot
//     read them, and lists across jobs take longer. Job collections seldom
//     continue as new, so most installations keep old keys for good, at no cost.
//
// If an API or a worker lacks a key, its errors name it: see [MissingKeyError]. Jobs stop meanwhile. They
// resume within ten minutes of the key's return, which is the longest time between two attempts of a
// workflow task. The exception is an attempt of an action that is given to a worker without the key: it
// fails and counts, which is why step 1 comes first.
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

// Metadata of an encrypted payload. Temporal's samples use the same names.
const (
	encoding      = "binary/encrypted"
	metadataKeyID = "encryption-key-id"

	metadataWorkflowID = "encryption-workflow-id" // not in the samples
)

// A MissingKeyError means that a payload is encrypted with a key that the ring lacks.
type MissingKeyError struct {
	KeyID string // from the payload
	Have  []string
}

func (e *MissingKeyError) Error() string {
	have := "there are no keys here"
	if len(e.Have) > 0 {
		have = "the keys here are " + strings.Join(e.Have, ", ")
	}
	return fmt.Sprintf("a payload is encrypted with the key %.40q, and %s: add it to ALMANAC_ENCRYPTION_KEYS, or to "+
		"the file that holds the keys", e.KeyID, have)
}

// A ClearPayloadError means that a payload is in clear although the ring has keys.
type ClearPayloadError struct{}

func (*ClearPayloadError) Error() string {
	return "a payload is in clear although there are encryption keys: it was written before there were keys, or by a program that has none. " +
		"If jobs are older than the keys, start every api and worker with --accept-clear-payloads (ALMANAC_ACCEPT_CLEAR_PAYLOADS=true). " +
		"If it is an argument that was sent with the temporal CLI or Web UI, use Almanac's API: they cannot encrypt for a workflow"
}

// A MisplacedError means that a payload was found in another workflow than it was encrypted for.
type MisplacedError struct {
	Workflow string // the workflow that it was encrypted for; "" for none
	Found    string // the workflow that it was found in; "" for none
}

func (e *MisplacedError) Error() string {
	return fmt.Sprintf("a payload that was encrypted for the workflow %.300q was found in %.300q: it was copied "+
		"there, or is read for the wrong workflow; reset or delete that workflow", e.Workflow, e.Found)
}

// A Codec encrypts and decrypts the payloads of one workflow. It is a
// [converter.PayloadCodec].
type Codec struct {
	keys     *KeyRing
	workflow string
}

// Codec returns the codec for the payloads of a workflow. "" stands for payloads of no workflow.
func (r *KeyRing) Codec(workflowID string) Codec { return Codec{r, workflowID} }

// Encode encrypts payloads with the first key. Without keys it returns them as they are.
func (c Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) { return c.keys.encrypt(p, c.workflow) })
}

// Decode decrypts payloads. The error is a [MissingKeyError] if a key is missing, a [ClearPayloadError] if
// a payload is in clear, and a [MisplacedError] if a payload was encrypted for another workflow. A ring
// without keys, and one from [KeyRing.AcceptingClear], return payloads in clear as they are.
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

// workflowOf returns the ID of the workflow that an encrypted payload names.
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

// additionalData returns the additional data of the AEAD. A key ID has no line end, so it is unambiguous.
func additionalData(keyID, workflowID string) []byte { return []byte(keyID + "\n" + workflowID) }

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
	return &commonpb.Payload{Metadata: metadata, Data: r.keys[id].Seal(nil, nil, text, additionalData(id, workflowID))}, nil
}

// decrypt decrypts a payload of any workflow.
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
	text, err := r.keys[id].Open(nil, nil, p.GetData(), additionalData(id, workflowOf(p)))
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

// Compressed payloads have the format of the SDK's own codec, which decodes them. Its Encode is not used:
// it allocates a compressor of some hundred kilobytes for every payload.
var (
	zlibCodec   = converter.NewZlibCodec(converter.ZlibCodecOptions{})
	compressors = sync.Pool{New: func() any { return zlib.NewWriter(nil) }}
)

// compressed serializes a payload and compresses it if that makes it smaller.
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
