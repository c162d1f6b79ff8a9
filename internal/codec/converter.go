package codec

import (
	"context"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// Converters returns the converters of a [client.Options], for APIs and
// workers alike. Use them without keys as well: only they keep a worker without
// keys from ending jobs that it cannot read.
func (r *KeyRing) Converters() (converter.DataConverter, converter.FailureConverter) {
	data := &dataConverter{DataConverter: converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), r), keys: r}
	return data, temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter:          data,
		EncodeCommonAttributes: r != nil,
	})
}

// A dataConverter is a codec's data converter that tells the code of workflows
// from everything else.
type dataConverter struct {
	converter.DataConverter
	keys *KeyRing
}

var _ converter.ContextAware = (*dataConverter)(nil)

// WithWorkflowContext returns the converter for the code of a workflow. There,
// an error would not do: the SDK ends a workflow whose input cannot be read,
// takes an unreadable result for a failure, and drops an unreadable signal. A
// panic fails the workflow task only, which Temporal repeats until it succeeds.
func (c *dataConverter) WithWorkflowContext(converter.WorkflowContext) converter.DataConverter {
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), insistent{c.keys})
}

// WithContext returns the converter for activities and clients.
func (c *dataConverter) WithContext(context.Context) converter.DataConverter { return c }

// insistent panics where its keys cannot decode a payload.
type insistent struct{ *KeyRing }

func (i insistent) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	decoded, err := i.KeyRing.Decode(payloads)
	if err != nil {
		panic(err) // see WithWorkflowContext
	}
	return decoded, nil
}
