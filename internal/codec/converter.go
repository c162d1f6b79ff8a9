package codec

import (
	"context"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// Converters returns the converters for [client.Options], for APIs and workers alike. Use them without keys
// as well: they keep a worker without keys from closing jobs that it cannot read.
func (r *KeyRing) Converters() (converter.DataConverter, converter.FailureConverter) {
	data := newDataConverter(r.Codec(""), false)
	return data, newFailureConverter(data)
}

// A dataConverter is a data converter with a codec. The SDK passes it the workflow of the payloads, and
// whether it is used by workflow code.
type dataConverter struct {
	converter.DataConverter
	codec      Codec
	inWorkflow bool
}

var (
	_ converter.ContextAware                          = (*dataConverter)(nil)
	_ converter.DataConverterWithSerializationContext = (*dataConverter)(nil)
)

func newDataConverter(c Codec, inWorkflow bool) *dataConverter {
	var payloads converter.PayloadCodec = c
	if inWorkflow {
		payloads = insistent{c}
	}
	return &dataConverter{converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), payloads), c, inWorkflow}
}

// WithWorkflowContext returns the converter for workflow code, which panics where others return an error.
// On an error the SDK would close a workflow whose input cannot be read, treat an unreadable result as a
// failure, and drop an unreadable signal. A panic only fails the workflow task, which Temporal retries
// until it succeeds.
func (c *dataConverter) WithWorkflowContext(converter.WorkflowContext) converter.DataConverter {
	return newDataConverter(c.codec, true)
}

// WithContext returns the converter for activities and clients, which is c.
func (c *dataConverter) WithContext(context.Context) converter.DataConverter { return c }

// WithSerializationContext returns the converter for the payloads of a workflow and its activities.
func (c *dataConverter) WithSerializationContext(of converter.SerializationContext) converter.DataConverter {
	switch of := of.(type) {
	case converter.WorkflowSerializationContext:
		return newDataConverter(c.codec.keys.Codec(of.WorkflowID), c.inWorkflow)
	case converter.ActivitySerializationContext:
		return newDataConverter(c.codec.keys.Codec(of.WorkflowID), c.inWorkflow)
	}
	return c
}

// insistent is a Codec whose Decode panics instead of returning an error.
type insistent struct{ Codec }

func (i insistent) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	decoded, err := i.Codec.Decode(payloads)
	if err != nil {
		panic(err) // see WithWorkflowContext
	}
	return decoded, nil
}

// A failureConverter is the SDK's failure converter with a serialization context, which the SDK's lacks.
type failureConverter struct {
	converter.FailureConverter
	data *dataConverter
}

var _ converter.FailureConverterWithSerializationContext = (*failureConverter)(nil)

func newFailureConverter(data *dataConverter) *failureConverter {
	return &failureConverter{temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter:          data,
		EncodeCommonAttributes: data.codec.keys != nil,
	}), data}
}

// WithSerializationContext returns the converter for the failures of a workflow and its activities.
func (c *failureConverter) WithSerializationContext(of converter.SerializationContext) converter.FailureConverter {
	return newFailureConverter(c.data.WithSerializationContext(of).(*dataConverter))
}
